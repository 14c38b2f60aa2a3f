// Stands in for a workflow engine: it keeps the results of steps, repeats steps that failed, and starts the worker again after a crash.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Steps of a workflow. The result of a step that has ended is kept in the folder, and the step is not run again. */
export interface Steps {
  run<T>(id: string, work: () => Promise<T>): Promise<T>
}

export function createSteps(folder: string, attempts: number): Steps {
  return {
    async run<T>(id: string, work: () => Promise<T>): Promise<T> {
      const file = join(folder, `step-${encodeURIComponent(id)}.json`)
      if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as T
      for (let attempt = 1; ; attempt++) {
        try {
          const result = await work()
          writeFileSync(file, JSON.stringify(result))
          return result
        } catch (error) {
          if (attempt === attempts) throw error
        }
      }
    },
  }
}

const FOLDER = 'WORKFLOW_FOLDER'
const MAX_STARTS = 5

/**
 * Runs `work` in a worker process. `script` is the address of the calling file, which is started again as the worker. If the worker dies, the
 * next one runs `work` from its beginning, with the same folder.
 */
export async function runInWorkers(script: string, work: (folder: string) => Promise<void>): Promise<void> {
  const given = process.env[FOLDER]
  if (given !== undefined) return work(given)
  const folder = mkdtempSync(join(tmpdir(), 'daybook-workflow-'))
  try {
    for (let starts = 1; starts <= MAX_STARTS; starts++) {
      const env = { ...process.env, [FOLDER]: folder }
      const { status, signal } = spawnSync(process.execPath, [...process.execArgv, fileURLToPath(script)], { stdio: 'inherit', env })
      console.log(`worker ${starts} ended with ${signal ?? status}`)
      if (status === 0) return
    }
    throw new Error(`the workflow did not end, although ${MAX_STARTS} workers have run it`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
