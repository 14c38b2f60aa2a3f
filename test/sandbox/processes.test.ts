import { execFile, spawn } from 'node:child_process'
import { chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'
import { findSandbox } from '../../src/adapters/sandbox/index.ts'
import { othersCanRead, waitFor } from './host-state.ts'

const found = await findSandbox()
const isRoot = process.getuid?.() === 0
const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** A temporary folder of a user, and what a process needs to run as this user. */
function folderOf(user: number | undefined) {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-processes-'))
  folders.push(folder)
  if (user !== undefined) chownSync(folder, user, user)
  return { folder, options: { env: { PATH: process.env.PATH, TMPDIR: folder }, ...(user !== undefined && { uid: user, gid: user }) } }
}

const users = [
  ['this user', undefined] as const,
  ...(isRoot && othersCanRead('package.json') ? [['an ordinary user', 60_000 + (process.pid % 900)] as const] : []),
]

describe.skipIf(found.sandbox === undefined)('the processes of programs', () => {
  it.each(users)('of 20 programs at the same time do not disturb each other, and leave nothing, as %s', async (_, user) => {
    const { options } = folderOf(user)
    const { stdout } = await promisify(execFile)(process.execPath, ['test/sandbox/run-parallel.ts'], options)
    const { logs, left } = JSON.parse(stdout) as { logs: readonly string[]; left: unknown }
    expect(logs).toEqual(['exited no more processes', ...Array.from({ length: 19 }, () => 'exited made 15 processes')])
    expect(left).toEqual({ files: [], processes: [], mounts: [], openFiles: 0 })
  })

  it.each(users)('end with the process that started them, as %s', async (_, user) => {
    const { folder, options } = folderOf(user)
    for (const name of ['out', 'out/turn_1', 'work']) {
      mkdirSync(join(folder, name))
      if (user !== undefined) chownSync(join(folder, name), user, user)
    }
    const child = spawn(process.execPath, ['test/sandbox/run-forever.ts', folder], { ...options, stdio: 'inherit' })
    const written = () => readdirSync(join(folder, 'work')).map((name) => statSync(join(folder, 'work', name)).size)
    await waitFor(() => (written().length === 2 && written().every((size) => size > 5) ? true : undefined))
    expect(written().length).toBe(2)
    child.kill('SIGKILL')
    expect(await staysTheSame(written)).toBe(true)
  })
})

/** Whether the value of `look` stays the same for a second, at some time in the next 20 seconds. */
async function staysTheSame(look: () => readonly number[]): Promise<boolean> {
  for (let tries = 0; tries < 20; tries += 1) {
    const before = look().join()
    await sleep(1_000)
    if (look().join() === before) return true
  }
  return false
}
