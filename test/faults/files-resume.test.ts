import { describe, expect, it } from 'vitest'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createMemoryFiles } from '../../src/adapters/files/memory.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { createMemoryWorkspaces } from '../../src/adapters/workspace/custom/custom.ts'
import { localScope } from '../../src/core/scope.ts'
import { blocksOfChange } from '../../src/core/timeline/change.ts'
import { LEASE_MS } from '../../src/ports/store.ts'
import { contentsBelow } from '../../src/testing/conformance/workspace/fixture.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { createHarness, keepFolders } from '../../src/testing/harness.ts'
import { type Reply, reply } from '../../src/testing/scripted-model.ts'
import { type FailureSide, failingStore } from '../support/crash/failing-store.ts'
import { hostingOn } from '../support/hosting.ts'

const write = (content: string) => reply.call('react.write', { path: 'files/app/a.md', channel: 'canvas', content, kind: 'file' })
const patch = (text: string) => reply.call('react.patch', { path: 'files/app/a.md', channel: 'canvas', patch: text, kind: 'file' })

/** Runs a turn whose store fails at an append, as if the process had died. Then resumes the turn in a second agent on the same storage. */
async function crashAndResume(replies: readonly Reply[], at: { readonly append: number; readonly side: FailureSide }) {
  const clock = createFixedClock()
  const blobs = createMemoryBlobs()
  const store = createMemoryStore({ blobs, clock })
  const { hosting, hosted } = hostingOn(blobs)
  const workspaces = keepFolders(createMemoryWorkspaces({ blobs, createFiles: createMemoryFiles }))
  const dying = createHarness({ replies, clock, workspaces, hosting, store: failingStore(store, at) })
  const completed = await dying.say('Go.').then(
    () => true,
    () => false,
  )
  const consumed = replies.length - dying.model.left
  const recorded = (await dying.journal()).filter((change) => change.type === 'response.received' && change.role === undefined).length
  clock.advance(LEASE_MS + 1)
  const next = createHarness({ replies: replies.slice(Math.min(consumed, recorded)), clock, workspaces, hosting, store })
  await next.agent.recover()
  const journal = await next.journal()
  const blocks = journal.flatMap(blocksOfChange)
  const turnId = blocks[0]?.turn_id ?? ''
  const files = turnId === '' ? {} : await contentsBelow(await workspaces.open(localScope, 'c1'), `${turnId}/files`)
  return { completed, recorded: journal.length > 0, blocks, files, hosted, open: (await next.timeline()).openTurn, left: next.model.left }
}

async function crashAtEveryEntry(replies: readonly Reply[], check: (end: Awaited<ReturnType<typeof crashAndResume>>) => void) {
  let crashes = 0
  for (const side of ['before', 'after'] as const) {
    for (let append = 1; ; append++) {
      const end = await crashAndResume(replies, { append, side })
      if (end.completed) break
      if (!end.recorded) continue
      crashes++
      expect([side, append, end.open, end.left]).toEqual([side, append, undefined, 0])
      check(end)
    }
  }
  expect(crashes).toBeGreaterThan(5)
}

describe('a process that dies between writing a file and its entry', () => {
  it('writes the same file again: there is one artifact, and its digest does not say edited', async () => {
    await crashAtEveryEntry([write('one\n'), reply.answer('Done.')], ({ files, blocks, hosted }) => {
      expect(files).toEqual({ 'app/a.md': 'one\n' })
      const digests = blocks.filter(({ text }) => text?.startsWith('{"artifact_path"'))
      expect(digests.map(({ text }) => (JSON.parse(text ?? '') as { edited: boolean }).edited)).toEqual([false])
      expect(new Set(hosted.map(({ physicalPath }) => physicalPath)).size).toBe(1) // the resumed turn hosted the file under the same key
      expect(blocks.filter(({ type }) => type === 'react.workspace.publish')).toHaveLength(1)
    })
  })

  it('does not apply a patch twice: the result says that the outcome is unknown, and the file is the old or the new version', async () => {
    const unknown: string[] = []
    await crashAtEveryEntry([write('one\n'), patch('@@ -1 +1,2 @@\n one\n+two\n'), reply.answer('Done.')], ({ files, blocks }) => {
      expect(['one\n', 'one\ntwo\n']).toContain(files['app/a.md'])
      const results = blocks.filter(({ type, path }) => type === 'react.tool.result' && path?.startsWith('tc:'))
      unknown.push(...results.flatMap(({ text }) => (text?.includes('outcome_unknown') ? [files['app/a.md'] ?? ''] : [])))
    })
    expect(unknown.length).toBeGreaterThan(0)
  })
})
