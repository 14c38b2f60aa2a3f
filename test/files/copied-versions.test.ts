import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { createCustomWorkspaces } from '../../src/adapters/workspace/custom/custom.ts'
import { createGitWorkspaces } from '../../src/adapters/workspace/git/git.ts'
import { recordsOf } from '../../src/agent/conversation/history.ts'
import { readWorkspacePublish } from '../../src/core/block/index.ts'
import { isObject } from '../../src/core/json.ts'
import { localScope } from '../../src/core/scope.ts'
import type { Bundle } from '../../src/core/timeline/bundle.ts'
import { blocksOfChange } from '../../src/core/timeline/change.ts'
import type { BlobStore } from '../../src/ports/blobs.ts'
import type { ConversationStore } from '../../src/ports/store.ts'
import type { Workspaces } from '../../src/ports/workspace.ts'
import { createFixedClock, type FixedClock } from '../../src/testing/fixed-clock.ts'
import { createHarness } from '../../src/testing/harness.ts'
import { type Reply, reply } from '../../src/testing/scripted-model.ts'
import { historyOf } from '../../src/tools/artifacts/history.ts'
import { leavingTool } from '../support/scenario-tools.ts'
import { foldersOnDisk } from '../support/workspace-folders.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-copied-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const kinds = {
  custom: (blobs: BlobStore) => createCustomWorkspaces({ ...foldersOnDisk(mkdtempSync(join(root, 'c-'))), blobs }),
  git: (blobs: BlobStore) => {
    const folder = mkdtempSync(join(root, 'g-'))
    return createGitWorkspaces({ ...foldersOnDisk(folder), root: folder, blobs })
  },
}
type Kind = keyof typeof kinds

interface System {
  readonly store: ConversationStore
  readonly clock: FixedClock
  readonly workspaces: Workspaces
}

function createSystem(kind: Kind): System {
  const clock = createFixedClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  return { clock, store, workspaces: kinds[kind](store.blobs) }
}

const archiveOf = (system: System) => createHarness({ replies: [], ...system }).agent.archive

/** Runs one turn with these replies. */
async function run(system: System, conversationId: string, replies: readonly Reply[]) {
  const harness = createHarness({ ...system, replies: [...replies, reply.answer('Done.')], conversationId, tools: [leavingTool()] })
  const { turnId } = await harness.say('Go on.')
  const ofTurn = (await harness.journal()).flatMap(blocksOfChange).filter(({ turn_id }) => turn_id === turnId)
  const results = ofTurn.filter(({ type }) => type === 'react.tool.result').map(({ text = '' }) => text)
  const published = ofTurn.flatMap((block) => readWorkspacePublish(block) ?? []).at(-1)
  const prompts = harness.model.requests.map(({ parts }) => JSON.stringify(parts))
  return { turnId, results: results.join('\n'), published, prompts }
}

const write = (path: string, content: string) => reply.call('react.write', { path, channel: 'canvas', content, kind: 'display' })
const leave = (files: Record<string, string>) => reply.call('sample.leave', { files })
const checkout = (...paths: string[]) => reply.call('react.checkout', { mode: 'replace', paths })

/** The files of the version of a turn. */
async function versionOf({ store, workspaces }: System, conversationId: string, turnId: string): Promise<Record<string, string>> {
  const workspace = await workspaces.open(localScope, conversationId)
  const history = historyOf({ records: recordsOf(store, conversationId), blobs: store.blobs })
  const files: Record<string, string> = {}
  for (const { rel } of (await workspace.version(turnId, history)) ?? []) {
    const bytes = await workspace.readVersion(turnId, rel, history)
    files[rel] = bytes instanceof Uint8Array ? Buffer.from(bytes).toString() : String(bytes)
  }
  return files
}

/** A conversation of three turns. The journal contains only some of their files. The third turn deletes a file. */
async function sampleConversation(kind: Kind) {
  const system = createSystem(kind)
  const first = await run(system, 'c1', [write('files/app/a.md', 'a1'), leave({ 'app/b.bin': 'b1', 'lib/x': 'x1' })])
  const second = await run(system, 'c1', [checkout(`fi:${first.turnId}.files`), leave({ 'app/b.bin': 'b2' })])
  const third = await run(system, 'c1', [
    checkout(`fi:${second.turnId}.files/lib`),
    write('files/app/a.md', 'a3'),
    leave({ 'lib/y': 'y3' }),
  ])
  const versions = [
    { 'app/a.md': 'a1', 'app/b.bin': 'b1', 'lib/x': 'x1' },
    { 'app/a.md': 'a1', 'app/b.bin': 'b2', 'lib/x': 'x1' },
    { 'app/a.md': 'a3', 'app/b.bin': 'b2', 'lib/x': 'x1', 'lib/y': 'y3' },
  ]
  return { system, turns: [first.turnId, second.turnId, third.turnId], versions }
}

const pairs = (['custom', 'git'] as const).flatMap((from) => (['custom', 'git'] as const).map((to) => [from, to] as const))

describe.each(['custom', 'git'] as const)('a fork (%s)', (kind) => {
  it('has the versions of its turns, and goes on from them on its own', async () => {
    const { system, turns, versions } = await sampleConversation(kind)
    await archiveOf(system).fork('c1', 'c2', turns[1])
    for (const at of [0, 1]) expect(await versionOf(system, 'c2', turns[at] ?? '')).toEqual(versions[at])
    const next = await run(system, 'c2', [
      reply.call('react.pull', { paths: [`fi:${turns[0]}.files/app/b.bin`] }),
      write('files/new.md', 'new'),
    ])
    expect(next.results).not.toContain('"error"')
    expect(next.published).toMatchObject({ status: 'published', workspace_implementation: kind })
    expect(next.published?.parent_unavailable).toBe(undefined)
    expect(await versionOf(system, 'c2', next.turnId)).toEqual({ ...versions[1], 'new.md': 'new' })
    expect(await versionOf(system, 'c1', turns[2] ?? '')).toEqual(versions[2])
    expect(next.prompts.at(-1)).toContain('- lib (1 file)') // the files are announced also after the workspace was opened
  })

  it('keeps its versions when the original is deleted', async () => {
    const { system, turns, versions } = await sampleConversation(kind)
    const archive = archiveOf(system)
    await archive.fork('c1', 'c2')
    await archive.delete('c1')
    expect(await versionOf(system, 'c2', turns[2] ?? '')).toEqual(versions[2])
    const next = await run(system, 'c2', [checkout(`fi:${turns[2]}.files`), leave({ 'lib/y': 'y4' })])
    expect(await versionOf(system, 'c2', next.turnId)).toEqual({ ...versions[2], 'lib/y': 'y4' })
  })

  it('of a fork has the versions of both', async () => {
    const { system, turns, versions } = await sampleConversation(kind)
    const archive = archiveOf(system)
    await archive.fork('c1', 'c2', turns[1])
    const next = await run(system, 'c2', [leave({ 'z/n': 'n' })])
    await archive.fork('c2', 'c3')
    for (const at of [0, 1]) expect(await versionOf(system, 'c3', turns[at] ?? '')).toEqual(versions[at])
    expect(await versionOf(system, 'c3', next.turnId)).toEqual({ ...versions[1], 'z/n': 'n' })
  })
})

describe.each(pairs)('a bundle of a conversation with %s workspaces, imported into %s', (from, to) => {
  it('has every version, and is the same when it is exported again', async () => {
    const { system, turns, versions } = await sampleConversation(from)
    const bundle = JSON.stringify(await archiveOf(system).exportBundle('c1'))
    expect(bundle).not.toContain('refs/daybook/') // the git refs are names of the exporting system
    const other = createSystem(to)
    other.clock.advance(60_000) // turn ids contain the time, so the turns of this system get other ids
    await archiveOf(other).importBundle(JSON.parse(bundle))
    for (const [at, turnId] of turns.entries()) expect(await versionOf(other, 'c1', turnId)).toEqual(versions[at])
    expect(JSON.stringify(await archiveOf(other).exportBundle('c1'))).toBe(bundle)
    const pulled = await run(other, 'c1', [reply.call('react.pull', { paths: [`fi:${turns[0]}.files/app`] })])
    expect(pulled.results).toContain('"tree":["a.md","b.bin"]')
    const next = await run(other, 'c1', [checkout(`fi:${turns[1]}.files/app`), leave({ 'app/b.bin': 'b9' })])
    expect(await versionOf(other, 'c1', next.turnId)).toEqual({ ...versions[2], 'app/a.md': 'a1', 'app/b.bin': 'b9' })
  })
})

describe('a hash in a bundle', () => {
  const secret = 'the secret of another conversation'
  const sha256 = createHash('sha256').update(secret).digest('hex')

  /** Returns the bundle with another manifest in the record of its only version. */
  function withManifest(bundle: Bundle, manifest: unknown): Bundle {
    const change = (block: Bundle['archive'][number]) =>
      block.type === 'react.workspace.publish' && isObject(JSON.parse(block.text ?? ''))
        ? { ...block, text: JSON.stringify({ ...(JSON.parse(block.text ?? '') as object), manifest }) }
        : block
    return {
      ...bundle,
      timeline: { ...bundle.timeline, blocks: bundle.timeline.blocks.map(change) },
      turn_logs: bundle.turn_logs.map((log) => ({ ...log, blocks: log.blocks.map(change) })),
    }
  }

  it.each(['custom', 'git'] as const)('does not open a blob whose bytes did not come with the bundle (%s)', async (kind) => {
    const system = createSystem(kind)
    await run(system, 'victim', [leave({ 'secret.md': secret })])
    await system.store.blobs.put(Buffer.from(secret))
    await system.store.blobs.put(Buffer.from(JSON.stringify({ depth: 0, weight: 1, files: { 'x.md': { sha256, size: secret.length } } })))
    const source = createSystem('custom')
    const { turnId } = await run(source, 'c1', [leave({ 'x.md': 'harmless' })])
    const bundle = await archiveOf(source).exportBundle('c1')
    const entry = { sha256, size: secret.length }
    const manifestText = JSON.stringify({ depth: 0, weight: 1, files: { 'x.md': entry } })
    for (const [name, manifest] of Object.entries({
      file: { depth: 0, weight: 1, files: { 'x.md': entry } },
      recorded: { depth: 0, weight: 1, files: { 'x.md': { ...entry, recorded: turnId } } },
      blob: { sha256: createHash('sha256').update(manifestText).digest('hex'), size: manifestText.length },
    })) {
      await archiveOf(system).importBundle(withManifest(bundle, manifest), name)
      for (const call of [
        reply.call('react.pull', { paths: [`fi:${turnId}.files`] }),
        checkout(`fi:${turnId}.files`),
        reply.call('react.read', { paths: [`fi:${turnId}.files/x.md`] }),
      ]) {
        const { results, prompts } = await run(system, name, [call])
        expect(results).toContain('workspace_version_unavailable')
        expect(`${results}${prompts.join('')}`).not.toContain(secret)
      }
    }
  })
})

it('a commit in git has the time of the agent at which its version was published, also in a fork', async () => {
  const clock = createFixedClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const folder = mkdtempSync(join(root, 'g-'))
  const workspaces = createGitWorkspaces({ ...foldersOnDisk(folder), root: folder, blobs: store.blobs })
  const system: System = { clock, store, workspaces }
  await run(system, 'c1', [write('files/a.md', 'a1')])
  const firstTime = clock.now()
  await archiveOf(system).fork('c1', 'c2')
  clock.advance(60_000)
  await run(system, 'c2', [write('files/b.md', 'b1')])
  const lineage = join(folder, 'local/default/local/c2/lineage.git')
  const times = execFileSync('git', ['--git-dir', lineage, 'log', '--all', '--format=%cI'], { encoding: 'utf8' }).trim().split('\n')
  expect(times.map((time) => Date.parse(time))).toEqual([clock.now(), firstTime].map((time) => Math.floor(Date.parse(time) / 1000) * 1000))
})
