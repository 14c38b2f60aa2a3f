import { expect, it } from 'vitest'
import { z } from 'zod'
import { applyChange, blocksOf, emptyTimeline } from '../core/index.ts'
import { defineTool } from '../tools/define.ts'
import { blocks, createHarness, expectTimeline, reply } from './index.ts'

it('builds timelines with consecutive block ids', () => {
  const turn = blocks.withIds([blocks.header('t1'), blocks.prompt('How is Rome?'), blocks.completion('Clear.')])
  const timeline = applyChange(emptyTimeline(), { type: 'blocks.appended', blocks: turn })
  expectTimeline(expect, timeline, ['turn.header', 'user.prompt: How is Rome?', 'assistant.completion: Clear.'])
  const more = applyChange(timeline, { type: 'blocks.appended', blocks: blocks.withIds(blocks.rounds(2, 't2'), turn.length + 1) })
  expect(blocksOf(more).map(({ id }) => id)).toEqual(Array.from({ length: 9 }, (_, n) => `b_${n + 1}`))
})

it('a timeline is compared without the metadata of results', async () => {
  const tool = defineTool({ id: 'shop.list', description: '', params: z.object({}), run: () => 'bread' })
  const harness = createHarness({ tools: [tool], replies: [reply.call('shop.list', {}), reply.answer('Bread.')] })
  await harness.say('What is there?')
  expectTimeline(expect, await harness.timeline(), [
    'turn.header',
    'user.prompt: What is there?',
    'stage.gate',
    'react.thinking',
    'react.tool.call: shop.list {}',
    'react.tool.result: bread',
    'react.thinking',
    'assistant.completion: Bread.',
  ])
})
