import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { fillInstallation, readInstallation } from '../support/installation.ts'
import { hasPostgres, startPostgres } from '../support/postgres.ts'

const KILLS = 8

describe.skipIf(!hasPostgres)('a move that is killed', async () => {
  const server = hasPostgres ? await startPostgres() : undefined
  const root = mkdtempSync(join(tmpdir(), 'daybook-move-crash-'))
  afterAll(async () => {
    await server?.stop()
    rmSync(root, { recursive: true, force: true })
  })

  /** Runs a move in a process of its own, and kills it after this many lines of progress. Returns how it ended, and how many lines there were. */
  async function move(from: string, to: string, data: string, killAfter = Number.POSITIVE_INFINITY) {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'move-child.ts'), from, to, data], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_COMPILE_CACHE: join(root, 'code') },
    })
    let [lines, errors] = [0, '']
    child.stdout.on('data', async (text: Buffer) => {
      const before = lines
      lines += text.toString().split('\n').length - 1
      if (before >= killAfter || lines < killAfter) return
      await sleep(Math.random() * 4)
      child.kill('SIGKILL')
    })
    child.stderr.on('data', (text: Buffer) => {
      errors += text
    })
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
    return { code, lines, errors }
  }

  it('is continued by the next one, again and again, and the copy is complete in both directions', async () => {
    const source = { data: join(root, 'source') }
    await fillInstallation(source)
    const content = await readInstallation(source)
    const database = { data: join(root, 'data'), databaseUrl: (await server?.createDatabase()) ?? '' }
    const back = { data: join(root, 'back') }
    let kills = 0
    for (const { from, to, data, place } of [
      { from: source.data, to: database.databaseUrl, data: database.data, place: database },
      { from: database.databaseUrl, to: back.data, data: database.data, place: back },
    ]) {
      const scratch = to === back.data ? join(root, 'scratch') : ((await server?.createDatabase()) ?? '')
      const { code, lines, errors } = await move(from, scratch, to === back.data ? data : join(root, 'scratch-data'))
      expect({ code, errors }).toEqual({ code: 0, errors: '' })
      let isDone = false
      for (let n = 0; n < KILLS; n++) {
        const killed = await move(from, to, data, 1 + Math.floor(Math.random() * (lines - 1)))
        if (killed.code === null) kills++
        isDone ||= killed.code === 0 || killed.errors.includes('nothing is left to do')
      }
      if (!isDone) expect(await move(from, to, data)).toMatchObject({ code: 0 })
      expect(await readInstallation(place)).toEqual(content)
    }
    expect(await readInstallation(source)).toEqual(content)
    expect(kills).toBeGreaterThan(KILLS)
  })
})
