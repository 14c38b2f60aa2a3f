import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { contextWithRoom } from '../../../test/support/context-size.ts'
import { failingStore } from '../../../test/support/crash/failing-store.ts'
import { createMemoryBlobs } from '../../adapters/blobs/memory.ts'
import { createMemoryFiles } from '../../adapters/files/memory.ts'
import { createMemoryStore } from '../../adapters/store/memory/store.ts'
import { createMemoryWorkspaces } from '../../adapters/workspace/custom/custom.ts'
import { type Block, readWorkspacePublish } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { localScope } from '../../core/scope.ts'
import { blocksOfChange } from '../../core/timeline/change.ts'
import { blocksOf } from '../../core/timeline/timeline.ts'
import type { Workspaces } from '../../ports/workspace.ts'
import { contentsBelow } from '../../testing/conformance/workspace/fixture.ts'
import { createFixedClock } from '../../testing/fixed-clock.ts'
import { createHarness, type Harness, type HarnessOptions } from '../../testing/harness.ts'
import { type Reply, reply } from '../../testing/scripted-model.ts'
import { defineTool } from '../../tools/define.ts'

const write = (path: string, content: string) => reply.call('react.write', { path, channel: 'canvas', content, kind: 'display' })
const createTestHarness = (replies: readonly Reply[], options: Partial<HarnessOptions> = {}) => createHarness({ replies, ...options })
const published = async (harness: Harness): Promise<readonly Block[]> =>
  (await harness.journal()).flatMap(blocksOfChange).filter(({ type }) => type === 'react.workspace.publish')
const promptOf = (harness: Harness, decision: number) =>
  harness.model.requests
    .filter(({ role }) => role === 'decision')
    [decision]?.parts.map((part) => ('text' in part ? part.text : ''))
    .join('\n') ?? ''

/** Workspaces whose `publish` fails with this error. */
function failingPublish(workspaces: Workspaces, error: Error): Workspaces {
  return {
    ...workspaces,
    async open(owner, conversationId) {
      return { ...(await workspaces.open(owner, conversationId)), publish: async () => Promise.reject(error) }
    },
  }
}

describe('the workspace of a turn', () => {
  it('is published in the same commit as the answer and the close', async () => {
    const harness = createTestHarness([write('files/app/a.md', 'one'), reply.answer('Done.')])
    const { turnId, ok } = await harness.say('Write.')
    expect(ok).toBe(true)
    const journal = await harness.journal()
    expect(journal.slice(-3).map(({ type }) => type)).toEqual(['response.received', 'blocks.appended', 'turn.closed'])
    const last = blocksOfChange(journal.at(-2) ?? { type: 'blocks.appended', blocks: [] })
    expect(last.map(({ type }) => type)).toEqual(['react.thinking', 'assistant.completion', 'react.workspace.publish'])
    const block = last.at(-1)
    expect(block?.path).toBe(`ar:${turnId}.react.workspace.publish`)
    expect(JSON.parse(block?.text ?? '')).toMatchObject({
      status: 'published',
      turn_id: turnId,
      workspace_implementation: 'custom',
      committed: true,
      manifest: { files: { 'app/a.md': { size: 3, recorded: turnId } } },
    })
  })

  it('is not published for a turn without files, or one that only searched', async () => {
    const harness = createTestHarness([reply.answer('Hello.'), reply.call('react.search_files', {}), reply.answer('Nothing there.')])
    await harness.say('Hi.')
    await harness.say('Look.')
    expect(await published(harness)).toEqual([])
  })

  it.each([
    { known: 'that the conversation has no files', mayHaveFiles: () => false, opened: 0 },
    { known: 'that it may have files', mayHaveFiles: () => true, opened: 1 },
    { known: 'nothing', mayHaveFiles: undefined, opened: 1 },
  ])('is opened $opened times at the end of a turn without files, when the workspaces know $known', async ({ mayHaveFiles, opened }) => {
    const workspaces = createMemoryWorkspaces({ blobs: createMemoryBlobs(), createFiles: createMemoryFiles })
    const open = vi.fn(workspaces.open)
    const counting = { ...workspaces, open, ...(mayHaveFiles && { mayHaveFiles }) }
    const add = defineTool({ id: 'sum.add', description: 'Adds.', params: z.object({ a: z.number() }), run: ({ a }) => ({ sum: a }) })
    const harness = createTestHarness([reply.call('sum.add', { a: 1 }), reply.answer('1')], { workspaces: counting, tools: [add] })
    expect((await harness.say('Add.')).ok).toBe(true)
    expect(open).toHaveBeenCalledTimes(opened)
  })

  it('is published when a stop follows the followup that deferred the answer', async () => {
    const clock = createFixedClock()
    const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
    const append: typeof store.append = async (claim, changes) => {
      if (changes.some((change) => change.type === 'event.accepted' && change.event.kind === 'steer')) await sleep(20)
      return store.append(claim, changes)
    }
    let said = false
    const onChunk = async () => {
      if (said) return
      said = true
      await harness.agent.send(harness.conversationId, 'And more.')
      void harness.agent.stop(harness.conversationId) // the commit of this stop is still pending while the model ends its response
    }
    const replies = [write('files/app/a.md', 'one'), { text: reply.answer('Done.'), onChunk }, reply.answer('More.')]
    const harness: Harness = createTestHarness(replies, { store: { ...store, append }, clock })
    const { turnId } = await harness.say('Write.')
    expect((await published(harness)).map(({ turn_id }) => turn_id)).toContain(turnId)
  })

  it('can be checked out by the next turn, on another machine, too', async () => {
    const first = createTestHarness([write('files/app/a.md', 'one'), write('files/notes/n.md', 'n'), reply.answer('Done.')])
    const { turnId } = await first.say('Write.')
    const next = createTestHarness(
      [
        reply.call('react.checkout', { mode: 'replace', paths: [`fi:${turnId}.files/app`] }),
        write('files/app/b.md', 'two'),
        reply.answer('Done.'),
      ],
      { store: first.store, clock: first.clock },
    )
    const second = await next.say('Go on.')
    const workspace = await next.workspaces.open(localScope, 'c1')
    expect(await contentsBelow(workspace, `${second.turnId}/files`)).toEqual({ 'app/a.md': 'one', 'app/b.md': 'two' })
    const records = (await published(next)).map(({ text }) => JSON.parse(text ?? '') as { manifest: { parent?: string; files: object } })
    expect(records[1]?.manifest).toMatchObject({ parent: turnId, files: { 'app/b.md': { recorded: second.turnId } } })
    expect(Object.keys(records[1]?.manifest.files ?? {})).toEqual(['app/b.md'])
    expect((await next.timeline()).openTurn).toBe(undefined)
    expect(blocksOf(await next.timeline()).map(({ type }) => type)).toContain('react.workspace.checkout')
  })

  it('keeps the other files of a folder when one of them was pulled and patched', async () => {
    const first = createTestHarness([write('files/app/a.md', 'one\n'), write('files/app/b.md', 'b'), reply.answer('Done.')])
    const { turnId } = await first.say('Write.')
    const patch = { path: `fi:${turnId}.files/app/a.md`, channel: 'canvas', patch: 'two\n', kind: 'display' }
    const replies = [
      reply.call('react.pull', { paths: [`fi:${turnId}.files/app/a.md`] }),
      reply.call('react.patch', patch),
      reply.answer('Done.'),
    ]
    const next = createTestHarness(replies, { store: first.store, clock: first.clock, workspaces: first.workspaces })
    await next.say('Patch.')
    const record = JSON.parse((await published(next)).at(-1)?.text ?? '') as { files: number; manifest: { files: object } }
    expect([record.files, Object.keys(record.manifest.files)]).toEqual([2, ['app/a.md']])
  })

  it('makes the turn fail when it can not be published, but the answer is kept', async () => {
    for (const error of [new Failure('workspace.failed', 'no room on /var/lib/x'), new Error('a bug')]) {
      const clock = createFixedClock()
      const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
      const workspaces = failingPublish(createMemoryWorkspaces({ blobs: store.blobs, createFiles: createMemoryFiles }), error)
      const harness = createTestHarness([write('files/app/a.md', 'one'), reply.answer('Done.'), reply.answer('Still here.')], {
        store,
        clock,
        workspaces,
      })
      const result = await harness.say('Write.')
      expect(result).toMatchObject({ ok: false, exitReason: 'error', answer: 'Done.' })
      expect(result.error).toMatchObject({ code: 'workspace.failed', details: { code: 'workspace_publish_failed' } })
      const record = JSON.parse((await published(harness))[0]?.text ?? '') as { message: string }
      expect(record).toMatchObject({
        status: 'failed',
        turn_id: result.turnId,
        committed: false,
        error: { code: 'workspace_publish_failed' },
      })
      expect(record.message).not.toContain('/var')
      expect((await harness.journal()).at(-1)).toMatchObject({ type: 'turn.closed', exit_reason: 'error' })
      expect((await harness.say('Hello?')).answer).toBe('Still here.')
    }
  })

  it('is published whatever ends the turn: the budget, protocol violations, an error', async () => {
    const down: Reply = { text: '', error: { message: 'The provider is down.' } }
    const endings: readonly (readonly [string, readonly Reply[]])[] = [
      ['max_iterations', ['no channels']],
      ['protocol_violation', Array.from({ length: 4 }, () => '<channel:answer>no')],
      ['error', [down, down, down, down]],
    ]
    for (const [exitReason, replies] of endings) {
      const settings = exitReason === 'max_iterations' ? { maxRounds: 1 } : {}
      const harness = createTestHarness([write('files/app/a.md', 'one'), ...replies], { settings })
      expect((await harness.say('Write.')).exitReason).toBe(exitReason)
      expect((await published(harness)).map(readWorkspacePublish)).toMatchObject([{ status: 'published' }])
    }
  })

  it('is published once when an answer was deferred', async () => {
    const harness = createTestHarness([
      write('files/app/a.md', 'one'),
      { text: reply.answer('Done.'), onChunk: () => harness.agent.send(harness.conversationId, 'And b?') },
      write('files/app/b.md', 'two'),
      reply.answer('Both.'),
    ])
    await harness.say('Write.')
    const records = (await published(harness)).map(({ text }) => JSON.parse(text ?? '') as { manifest: { files: object } })
    expect(records.map(({ manifest }) => Object.keys(manifest.files))).toEqual([['app/a.md', 'app/b.md']])
  })

  it('is published by the process that resumes the turn', async () => {
    const clock = createFixedClock()
    const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
    const workspaces = createMemoryWorkspaces({ blobs: store.blobs, createFiles: createMemoryFiles })
    const dying = createTestHarness([write('files/app/a.md', 'one'), reply.answer('Done.')], {
      store: failingStore(store, { append: 4, side: 'before' }),
      clock,
      workspaces,
    })
    await expect(dying.say('Write.')).rejects.toThrow()
    clock.advance(60_000)
    const heir = createTestHarness([reply.answer('Done after all.')], { store, clock, workspaces })
    await heir.agent.recover()
    expect((await published(heir)).map(readWorkspacePublish)).toMatchObject([{ status: 'published' }])
  })

  it('is restored from the journal when the turn is resumed on another machine', async () => {
    const clock = createFixedClock()
    const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
    const first = createTestHarness([write('files/app/a.md', 'one'), write('files/app/b.md', 'two'), reply.answer('Done.')], {
      store,
      clock,
    })
    const { turnId } = await first.say('Write.')
    const script = [
      reply.call('react.checkout', { mode: 'replace', paths: [`fi:${turnId}.files/app`] }),
      write('files/app/b.md', 'new'),
      reply.answer('Done.'),
    ]
    const dying = createTestHarness(script, { store: failingStore(store, { append: 6, side: 'before' }), clock })
    await expect(dying.say('Go on.')).rejects.toThrow()
    clock.advance(60_000)
    const heir = createTestHarness([write('files/app/c.md', 'three'), reply.answer('Done after all.')], { store, clock })
    const [result] = (await heir.agent.recover()).results
    const workspace = await heir.workspaces.open(localScope, 'c1')
    expect(await contentsBelow(workspace, `${result?.turnId}/files`)).toEqual({ 'app/a.md': 'one', 'app/b.md': 'new', 'app/c.md': 'three' })
    expect((await published(heir)).at(-1)?.text).toContain('"files":3')
  })

  it('has the newest published version as its parent, even when that turn is summarised', async () => {
    const wanted = [write('files/app/a.md', 'one')]
    const modelReply: Reply = ({ role }) => (role === 'decision' ? (wanted.shift() ?? reply.answer('Done.')) : 'They wrote a file.')
    const harness = createTestHarness(
      Array.from({ length: 40 }, () => modelReply),
      {
        settings: { contextTokens: contextWithRoom(4_400), keepRecentTurns: 1 },
      },
    )
    const { turnId } = await harness.say('Write.')
    for (let n = 0; n < 4; n++) await harness.say('Tell me more. '.repeat(700))
    const inSight = blocksOf(await harness.timeline()).map(({ type }) => type)
    expect([inSight.includes('conv.range.summary'), inSight.includes('react.workspace.publish')]).toEqual([true, false])
    wanted.push(write('files/lib/b.md', 'b'))
    const last = await harness.say('Write more.')
    const records = (await published(harness)).map(
      ({ text }) => JSON.parse(text ?? '') as { turn_id: string; manifest: { parent?: string } },
    )
    expect(records.at(-1)).toMatchObject({ turn_id: last.turnId, manifest: { parent: turnId } })
  })
})

describe('ANNOUNCE', () => {
  it('describes the folders of the workspace once the turn has opened it, and not before', async () => {
    const harness = createTestHarness([write('files/app/a.md', 'one'), reply.answer('Done.'), reply.answer('Bye.')])
    const { turnId } = await harness.say('Write.')
    await harness.say('Thanks.')
    expect(promptOf(harness, 0)).not.toContain('local turn roots')
    expect(promptOf(harness, 1)).toContain(
      [
        '[WORKSPACE]',
        '  implementation: custom',
        `  current_turn_root: ${turnId}/`,
        '  local turn roots:',
        `    - ${turnId}/ (current)`,
        '  current editable workspace:',
        '    - app (1 file)',
      ].join('\n'),
    )
    expect(promptOf(harness, 2)).not.toContain('local turn roots')
  })

  it('tells what a program wrote in the round after it ran', async () => {
    const program = defineTool({
      id: 'exec_tools.execute_code_python',
      description: 'Runs a program.',
      params: z.object({ contract: z.unknown() }),
      exec: true,
      async run(_, call) {
        // another `Workspace` object, so the object of the turn does not know about this write
        const elsewhere = await harness.workspaces.open(localScope, 'c1')
        await elsewhere.files.write(`${call.origin.turnId}/files/made/by-a-program.txt`, Buffer.from('x'))
        return {}
      },
    })
    const run = reply.call(
      'exec_tools.execute_code_python',
      { contract: [{ filename: 'files/made/by-a-program.txt', description: 'A file.' }] },
      { code: 'print(1)' },
    )
    const harness: Harness = createTestHarness([write('files/app/a.md', 'one'), run, reply.answer('Done.')], { tools: [program] })
    await harness.say('Run.')
    expect([promptOf(harness, 1), promptOf(harness, 2)].map((prompt) => prompt.includes('- made (1 file)'))).toEqual([false, true])
  })
})
