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

/** Ends when the child does, by its own hand or by ours: a while after it has said so many lines. Gives what it said. */
async function runChild(
  folder: string,
  what: string,
  how: { readonly step: number } | { readonly killAfter: number; readonly ms: number },
): Promise<readonly string[]> {
  const script = join(import.meta.dirname, 'files-child.ts')
  const step = 'step' in how ? [String(how.step)] : []
  const child = spawn(process.execPath, [script, folder, what, ...step], {
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

/** Which version a folder holds now; throws when it is a mix of two. */
const found: Readonly<Record<string, (folder: string, files: number) => Promise<number>>> = {
  async write(folder) {
    return versionOf(await filesIn(folder).read('turn_1/files/a'))
  },
  async replaceFolder(folder, files) {
    const disk = filesIn(folder)
    const paths = (await disk.list('turn_1/files')).files.map(({ path }) => path)
    const n = versionOf(await disk.read(paths[0] as string))
    const whole = [...folderVersion(n, files).keys()].map((path) => `turn_1/files/${path}`).sort()
    expect(paths).toEqual(whole)
    for (const path of paths) expect(versionOf(await disk.read(path))).toBe(n)
    return n
  },
  async host(folder) {
    const hosting = hostingIn(folder)
    const { rn } = { rn: 'ef:t:p:chatbot:file:u:c:turn_1:artifact:turn_1%2Ffiles%2Fa' }
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

it('a folder that is being replaced is the old or the new one whichever step the process dies before, and nothing is left behind', async () => {
  const dieBefore = async (step: number) => {
    const folder = mkdtempSync(join(root, 's-'))
    await runOnce(folder, 'replaceFolder', 1)
    const said = await runChild(folder, 'replaceFolder', { step })
    const outcome = (await found.replaceFolder?.(folder, 2)) as number
    expect(leftovers(folder)).toEqual([])
    return { outcome, survived: said.includes('done') }
  }
  await dieBefore(Number.MAX_SAFE_INTEGER) // ends in peace, and leaves its compiled code to those that will not
  const runs: Awaited<ReturnType<typeof dieBefore>>[] = []
  while (!runs.at(-1)?.survived) runs.push(...(await Promise.all([1, 2, 3, 4].map((next) => dieBefore(runs.length + next)))))
  const outcomes = runs.map(({ outcome }) => outcome)
  const turned = outcomes.indexOf(2)
  expect(turned).toBeGreaterThan(5) // it did die before it was sure of the new one,
  expect(outcomes.length - turned).toBeGreaterThan(3) // and after
  expect(outcomes).toEqual(outcomes.map((_, index) => (index < turned ? 1 : 2)))
  await dieWhileRecovering(turned + 2)
}, 90_000)

/** The old folder has been moved aside and the new one is not there yet; whoever comes to finish it dies as well, at every step. */
async function dieWhileRecovering(step: number): Promise<void> {
  const torn = mkdtempSync(join(root, 't-'))
  await runOnce(torn, 'replaceFolder', 1)
  await runChild(torn, 'replaceFolder', { step })
  expect(existsSync(join(torn, 'out/turn_1/files'))).toBe(false)
  const dieAt = async (next: number) => {
    const folder = mkdtempSync(join(root, 'u-'))
    cpSync(torn, folder, { recursive: true })
    const said = await runChild(folder, 'recover', { step: next })
    expect(await found.replaceFolder?.(folder, 2)).toBe(2)
    expect(leftovers(folder)).toEqual([])
    return said.includes('done')
  }
  for (let next = 1; ; next += 3) {
    const survived = await Promise.all([next, next + 1, next + 2].map(dieAt))
    if (survived[2]) break
  }
}

it.each(['write', 'replaceFolder', 'host'])(
  'killed at any moment inside %s, it leaves what was acknowledged, or the next, and never a mix',
  async (what) => {
    const folder = mkdtempSync(join(root, 'r-'))
    await runOnce(folder, what, 1, 12)
    for (let round = 0; round < 5; round++) {
      const before = (await found[what]?.(folder, 12)) as number
      const said = await runChild(folder, what, { killAfter: 1 + (round % 3), ms: Math.random() * 50 })
      const acknowledged = Math.max(0, ...said.map((line) => Number(/^acknowledged (\d+)$/.exec(line)?.[1] ?? 0)))
      const now = (await found[what]?.(folder, 12)) as number
      const allowed = acknowledged === 0 ? [before, 2] : [acknowledged, acknowledged + 1]
      expect(allowed).toContain(now)
      expect(leftovers(folder)).toEqual([])
    }
  },
)
