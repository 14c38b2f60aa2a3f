import { expect, it } from 'vitest'
import { applyChange, blocksOf, emptyTimeline } from '../core/index.ts'
import { blocks, expectTimeline } from './index.ts'

it('builds timelines with consecutive block ids', () => {
  const turn = blocks.withIds([blocks.header('t1'), blocks.prompt('How is Rome?'), blocks.completion('Clear.')])
  const timeline = applyChange(emptyTimeline(), { type: 'blocks.appended', blocks: turn })
  expectTimeline(expect, timeline, ['turn.header', 'user.prompt: How is Rome?', 'assistant.completion: Clear.'])
  const more = applyChange(timeline, { type: 'blocks.appended', blocks: blocks.withIds(blocks.rounds(2, 't2'), turn.length + 1) })
  expect(blocksOf(more).map(({ id }) => id)).toEqual(Array.from({ length: 9 }, (_, n) => `b_${n + 1}`))
})
