import { spawn } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, it } from 'vitest'
import { filesIn, folderVersion, hostedVersion, hostingIn, owner, runOnce, version } from './files-work.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-files-crash-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

/**
 * Runs a child that kills itself at a step, or kills the child `ms` milliseconds after it has printed `killAfter` lines. Returns the
 * printed lines.
 */
async function runChild(
  folder: string,
  operation: string,
  how: { readonly step: number } | { readonly killAfter: number; readonly ms: number },
): Promise<readonly string[]> {
  const script = join(import.meta.dirname, 'files-child.ts')
  const step = 'step' in how ? [String(how.step)] : []
  const child = spawn(process.execPath, [script, folder, operation, ...step], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, NODE_COMPILE_CACHE: join(root, 'code') },
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line)
    if (line === 'ready') child.stdin.end('go')
    if ('killAfter' in how && lines.length === how.killAfter) void sleep(how.ms).then(() => child.kill('SIGKILL'))
  }
  await ended
  return lines
}

/** Returns the number of the stored version, for each operation. Fails when the stored data is a mix of two versions. */
const readVersion: Readonly<Record<string, (folder: string, files: number) => Promise<number>>> = {
  async write(folder) {
    return versionOf(await filesIn(folder).read('turn_1/files/a'))
  },
  async replaceFolder(folder, files) {
    const disk = filesIn(folder)
    const paths = (await disk.list('turn_1/files')).files.map(({ path }) => path)
    const n = versionOf(await disk.read(paths[0] as string))
    const expected = [...folderVersion(n, files).keys()].map((path) => `turn_1/files/${path}`).sort()
    expect(paths).toEqual(expected)
    for (const path of paths) expect(versionOf(await disk.read(path))).toBe(n)
    return n
  },
  async host(folder) {
    const hosting = hostingIn(folder)
    const rn = 'ef:t:p:chatbot:file:u:c:turn_1:artifact:turn_1%2Ffiles%2Fa'
    const file = await hosting.resolve(rn, owner)
    if (!file) throw new Error('the file is gone')
    const n = versionOf(await hosting.read(file))
    expect(file.mime).toBe(hostedVersion(n).mime)
    return n
  },
}

function versionOf(bytes: Uint8Array | undefined): number {
  const [, n] = /^version (\d+) /.exec(new TextDecoder().decode(bytes)) ?? []
  expect(Buffer.compare(bytes as Uint8Array, version(Number(n)))).toBe(0)
  return Number(n)
}

const leftovers = (folder: string) => {
  const drafts = join(folder, 'out/.daybook')
  return existsSync(drafts) ? readdirSync(drafts) : []
}

it('a folder replacement that is killed before any of its steps leaves the old or the new folder, and no temporary files', async () => {
  const killBefore = async (step: number) => {
    const folder = mkdtempSync(join(root, 's-'))
    await runOnce(folder, 'replaceFolder', 1)
    const lines = await runChild(folder, 'replaceFolder', { step })
    const outcome = (await readVersion.replaceFolder?.(folder, 2)) as number
    expect(leftovers(folder)).toEqual([])
    return { outcome, survived: lines.includes('done') }
  }
  await killBefore(Number.MAX_SAFE_INTEGER) // this child ends normally, so that Node stores its compiled code for the other children
  const runs: Awaited<ReturnType<typeof killBefore>>[] = []
  while (!runs.at(-1)?.survived) runs.push(...(await Promise.all([1, 2, 3, 4].map((next) => killBefore(runs.length + next)))))
  const outcomes = runs.map(({ outcome }) => outcome)
  const firstNew = outcomes.indexOf(2)
  expect(firstNew).toBeGreaterThan(5) // some children died before the new folder was durable
  expect(outcomes.length - firstNew).toBeGreaterThan(3) // and some children died after it
  expect(outcomes).toEqual(outcomes.map((_, index) => (index < firstNew ? 1 : 2)))
  await killWhileRecovering(firstNew + 2)
}, 90_000)

/**
 * Kills a process that replaces a folder while neither the old nor the new folder is in its place. Then kills the process that finishes the
 * replacement, at every one of its steps.
 */
async function killWhileRecovering(step: number): Promise<void> {
  const interrupted = mkdtempSync(join(root, 't-'))
  await runOnce(interrupted, 'replaceFolder', 1)
  await runChild(interrupted, 'replaceFolder', { step })
  expect(existsSync(join(interrupted, 'out/turn_1/files'))).toBe(false)
  const killAt = async (next: number) => {
    const folder = mkdtempSync(join(root, 'u-'))
    cpSync(interrupted, folder, { recursive: true })
    const lines = await runChild(folder, 'recover', { step: next })
    expect(await readVersion.replaceFolder?.(folder, 2)).toBe(2)
    expect(leftovers(folder)).toEqual([])
    return lines.includes('done')
  }
  for (let next = 1; ; next += 3) {
    const survived = await Promise.all([next, next + 1, next + 2].map(killAt))
    if (survived[2]) break
  }
}

it.each(['write', 'replaceFolder', 'host'])(
  'a process killed at any time during %s leaves the acknowledged version or the next one, never a mix',
  async (operation) => {
    const folder = mkdtempSync(join(root, 'r-'))
    await runOnce(folder, operation, 1, 12)
    for (let round = 0; round < 5; round++) {
      const before = (await readVersion[operation]?.(folder, 12)) as number
      const lines = await runChild(folder, operation, { killAfter: 1 + (round % 3), ms: Math.random() * 50 })
      const acknowledged = Math.max(0, ...lines.map((line) => Number(/^acknowledged (\d+)$/.exec(line)?.[1] ?? 0)))
      const now = (await readVersion[operation]?.(folder, 12)) as number
      const allowed = acknowledged === 0 ? [before, 2] : [acknowledged, acknowledged + 1]
      expect(allowed).toContain(now)
      expect(leftovers(folder)).toEqual([])
    }
  },
)
