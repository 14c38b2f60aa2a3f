import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, describe, expect, it } from 'vitest'
import { lineageRefs } from '../../src/adapters/workspace/git/lineage.ts'
import { localScope } from '../../src/core/scope.ts'
import { contentsBelow } from '../../src/testing/conformance/workspace/fixture.ts'
import { countAttempts } from '../support/attacks/count.ts'
import { codeCache } from './children.ts'
import { contentsOf, type Kind, openWorkspaceFolder } from './workspace-on-disk.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-workspace-crash-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const KILLS = 3
const env = { ...process.env, NODE_COMPILE_CACHE: codeCache }
const script = join(import.meta.dirname, 'workspace-child.ts')

/** Kills a child some time after its second line. The time differs for each kill, and is never while the child loads its code. */
async function killDuring(folder: string, kind: Kind, operation: 'checkout' | 'publish', kill: number): Promise<void> {
  const child = spawn(process.execPath, [script, folder, kind, operation], { stdio: ['ignore', 'pipe', 'inherit'], env })
  const ended = once(child, 'close')
  let lines = 0
  for await (const _ of createInterface({ input: child.stdout })) {
    if (++lines < 2) continue
    await new Promise((resume) => setTimeout(resume, kill * 13))
    child.kill('SIGKILL')
    break
  }
  const [code, signal] = (await ended) as [number | null, string | null]
  expect([code, signal]).toEqual([null, 'SIGKILL'])
}

const asText = (turnId: string) => Object.fromEntries([...contentsOf(turnId)].map(([rel, bytes]) => [rel, Buffer.from(bytes).toString()]))

describe.each(['custom', 'git'] as const)('a killed process, %s', (kind) => {
  it('during a checkout leaves the old or the new folder, and the checkout can be repeated', async (context) => {
    countAttempts(context, KILLS)
    const folder = mkdtempSync(join(root, 'checkout-'))
    const before = await openWorkspaceFolder(folder, kind)
    for (const turnId of ['turn_a', 'turn_b']) {
      await before.workspace.startTurn(turnId)
      await before.workspace.files.replaceFolder(`${turnId}/files`, contentsOf(turnId))
      await before.publish(turnId)
    }
    for (let kill = 0; kill < KILLS; kill++) {
      await killDuring(folder, kind, 'checkout', kill)
      const { workspace, history } = await openWorkspaceFolder(folder, kind)
      await workspace.startTurn('turn_c')
      const found = await contentsBelow(workspace, 'turn_c/files')
      expect([asText('turn_a'), asText('turn_b')]).toContainEqual(found)
      const again = await workspace.checkout('turn_c', { mode: 'replace', sources: [{ turnId: 'turn_a', rel: '' }] }, history)
      expect(again.ok).toBe(true)
      expect(await contentsBelow(workspace, 'turn_c/files')).toEqual(asText('turn_a'))
    }
  }, 120_000)

  it('during a publish leaves every version complete, and the next publish continues from there', async (context) => {
    countAttempts(context, KILLS)
    const folder = mkdtempSync(join(root, 'publish-'))
    for (let kill = 0; kill < KILLS; kill++) {
      await killDuring(folder, kind, 'publish', kill)
      const { workspace, history, publish, turns } = await openWorkspaceFolder(folder, kind)
      const turnIds = readdirSync(join(folder, 'workspaces/local/default/local/c1/out/workdir')).filter((name) => name.startsWith('turn_'))
      for (const turnId of turnIds.slice(-4)) {
        const version = await workspace.version(turnId, history)
        if (turns().includes(turnId)) expect(version?.length).toBe(contentsOf(turnId).size)
        if (!version) continue
        await workspace.startTurn('turn_z')
        await workspace.checkout('turn_z', { mode: 'replace', sources: [{ turnId, rel: '' }] }, history)
        expect(await contentsBelow(workspace, 'turn_z/files')).toEqual(asText(turnId))
      }
      const open = `turn_${String(turns().length).padStart(4, '0')}`
      await workspace.startTurn(open)
      await workspace.files.replaceFolder(`${open}/files`, contentsOf(open))
      await publish(open)
      expect((await workspace.version(open, history))?.length).toBe(contentsOf(open).size)
    }
    if (kind === 'git') expectSoundRepository(folder)
  }, 120_000)
})

/** Checks that `git fsck` finds no error, and that the branch points at the newest version. */
function expectSoundRepository(folder: string): void {
  const repository = join(folder, 'workspaces/local/default/local/c1/lineage.git')
  const git = (...args: string[]) => execFileSync('git', ['--git-dir', repository, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim()
  const { branch, version } = lineageRefs(localScope, 'c1')
  git('fsck', '--strict', '--connectivity-only')
  const versions = git('for-each-ref', '--sort=refname', '--format=%(objectname)', version('x').slice(0, -2)).split('\n')
  expect(git('rev-parse', branch)).toBe(versions.at(-1))
}
