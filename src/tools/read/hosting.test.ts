import { expect, it } from 'vitest'
import { z } from 'zod'
import { createMemoryBlobs } from '../../adapters/blobs/memory.ts'
import { createHosting } from '../../adapters/hosting/hosting.ts'
import { createMemoryObjects } from '../../adapters/hosting/memory-objects.ts'
import { createMemoryStore } from '../../adapters/store/memory/store.ts'
import { type Block, callIdOf, readToolCall } from '../../core/block/index.ts'
import { blocksAtPath, blocksOf } from '../../core/timeline/timeline.ts'
import type { ModelRequest } from '../../ports/model.ts'
import { createFixedClock } from '../../testing/fixed-clock.ts'
import { createHarness } from '../../testing/harness.ts'
import { type Reply, reply } from '../../testing/scripted-model.ts'
import { defineTool } from '../define.ts'

const change = defineTool({
  id: 'work.change',
  description: 'Changes a file, as a program would.',
  params: z.object({}),
  async run(_, call) {
    await (await call.workspace()).files.write(`${call.origin.turnId}/files/a.md`, Buffer.from('changed\n'))
    return 'changed'
  },
})

const pathIn = ({ parts }: ModelRequest, pattern: RegExp) => [...JSON.stringify(parts).matchAll(pattern)].at(-1)?.[0]
const writes = (content: string) => reply.call('react.write', { path: 'files/a.md', channel: 'canvas', content, kind: 'file' })
const readsFile: Reply = (request) => reply.call('react.read', { paths: [pathIn(request, /fi:turn_\w+\.files\/a\.md/g)] })

function harnessWith(replies: readonly Reply[]) {
  const clock = createFixedClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const hosting = createHosting({ objects: createMemoryObjects(), blobs: store.blobs })
  return createHarness({ replies, store, clock, hosting, tools: [change] })
}

/** The hosting fields of a block, and the hash of the hosted bytes if the block keeps them. */
const handlesOf = ({ meta = {}, blob }: Block) => ({
  hosted_uri: meta.hosted_uri,
  rn: meta.rn,
  key: meta.key,
  bytes: [...(meta.keeps ?? []), ...(blob ? [blob] : [])].at(-1)?.sha256,
})

/** The file blocks that reads made, and the file blocks that other calls made. */
async function blocksOfReads(harness: ReturnType<typeof harnessWith>) {
  const blocks = blocksOf(await harness.timeline())
  const reads = new Set(blocks.flatMap((block) => (readToolCall(block)?.tool_id === 'react.read' ? [callIdOf(block)] : [])))
  const files = blocks.filter(({ path, type }) => path?.startsWith('fi:') && type !== 'user.attachment.meta')
  return { read: files.filter((block) => reads.has(callIdOf(block))), made: files.filter((block) => !reads.has(callIdOf(block))) }
}

it.each([
  ['short', 'a short text\n'],
  ['long', 'many words in a long text\n'.repeat(1_000)],
])('a %s hosted file that is read has the handles of the file, and the model does not see them', async (_, content) => {
  const numbered: Reply = (request) =>
    reply.call('react.read', { paths: [pathIn(request, /fi:turn_\w+\.files\/a\.md/g)], line_numbers: 'sparsed' })
  const harness = harnessWith([writes(content), numbered, reply.answer('Done.'), numbered, reply.answer('Done.')])
  await harness.say('Write and read.')
  await harness.say('Read it with other numbers.')
  const { read, made } = await blocksOfReads(harness)
  const handles = handlesOf(made[0] as Block)
  expect(Object.values(handles)).toEqual(Array(4).fill(expect.any(String)))
  expect(read.map(handlesOf)).toEqual([handles])
  const prompts = JSON.stringify(harness.model.requests)
  for (const handle of [handles.hosted_uri, handles.rn, handles.key]) expect(prompts).not.toContain(handle)
})

it('a file that has changed since it was hosted has no handles', async () => {
  const harness = harnessWith([writes('as handed over\n'), reply.call('work.change', {}), readsFile, reply.answer('Done.')])
  await harness.say('Write, change and read.')
  const { read } = await blocksOfReads(harness)
  expect(read).toMatchObject([{ text: 'changed\n' }])
  expect(handlesOf(read[0] as Block)).toEqual({})
})

it('an attachment that is read has the handles of the attachment', async () => {
  const harness = harnessWith([
    (request) => reply.call('react.read', { paths: [pathIn(request, /fi:turn_\w+\.user\.attachments\/a\.csv/g)] }),
    reply.answer('Done.'),
  ])
  const turn = harness.agent.run(harness.conversationId, 'Read it.', {
    attachments: [{ name: 'a.csv', mime: 'text/csv', content: 'a,b\n1,2\n' }],
  })
  await turn.result
  const { read } = await blocksOfReads(harness)
  const [described] = blocksAtPath(await harness.timeline(), read[0]?.path ?? '')
  expect(handlesOf(read[0] as Block)).toEqual(handlesOf(described as Block))
  expect(handlesOf(read[0] as Block)).toMatchObject({ hosted_uri: expect.any(String), rn: expect.any(String) })
})
