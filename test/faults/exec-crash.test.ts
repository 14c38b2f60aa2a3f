import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { findSandbox } from '../../src/adapters/sandbox/index.ts'
import { openStore } from '../../src/wiring/store.ts'
import { codeCache } from './children.ts'

const { sandbox } = await findSandbox()
const env = { ...process.env, NODE_COMPILE_CACHE: codeCache }
const child = (data: string, mode: string) => [join(import.meta.dirname, 'exec-child.ts'), data, mode]

/** The files with this name below a folder, or all files. */
const findFiles = (folder: string, name: string) =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((path) => (name === '' ? statSync(join(folder, path)).isFile() : path.endsWith(`/${name}`)))
        .map((path) => join(folder, path))
    : []

/** The processes whose command line contains this text. */
const processesWith = (text: string) =>
  readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text)
    } catch {
      return false // the process has ended
    }
  })

describe.runIf(sandbox)('a process that is killed while a program runs', () => {
  it('takes the program with it; the next process does not run the program again and tells the model that the outcome is unknown', async () => {
    const data = mkdtempSync(join(tmpdir(), 'daybook-exec-crash-'))
    const running = spawn(process.execPath, child(data, 'run'), { stdio: 'inherit', env })
    while (!findFiles(join(data, 'workspaces'), 'half.txt').some((file) => statSync(file).size > 0)) await sleep(20)
    const ended = new Promise((resolve) => running.once('exit', resolve))
    running.kill('SIGKILL')
    await ended
    while (processesWith(data).length > 0) await sleep(20) // the test ends with a time-out if a process stays

    const next = spawnSync(process.execPath, child(data, 'recover'), { encoding: 'utf8', env })
    expect(next.stdout).toBe('I saw it.\n')
    const store = await openStore({ data })
    const journal = []
    for await (const { change } of store.readJournal('c1', { after: 0 })) journal.push(change)
    await store.close()
    const text = JSON.stringify(journal)
    expect(text).toContain('tool_call_error.outcome_unknown')
    expect(journal.filter(({ type }) => type === 'call.repeated')).toEqual([])
    const contents = findFiles(join(data, 'blobs'), '').map((file) => readFileSync(file, 'utf8'))
    expect(contents.filter((content) => content.startsWith('run '))).toEqual(['run ']) // the version has what the first run wrote
    rmSync(data, { recursive: true })
  })
})
