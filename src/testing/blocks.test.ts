import { expect, it } from 'vitest'
import { applyChange, blocksOf, emptyTimeline } from '../core/index.ts'
import { completion, entered, expectTimeline, header, prompt, rounds } from './index.ts'

it('builds timelines with consecutive block ids', () => {
  const blocks = entered([header('t1'), prompt('How is Rome?'), completion('Clear.')])
  const timeline = applyChange(emptyTimeline(), { type: 'blocks.appended', blocks })
  expectTimeline(expect, timeline, ['turn.header', 'user.prompt: How is Rome?', 'assistant.completion: Clear.'])
  const more = applyChange(timeline, { type: 'blocks.appended', blocks: entered(rounds(2, 't2'), blocks.length + 1) })
  expect(blocksOf(more).map(({ id }) => id)).toEqual(Array.from({ length: 9 }, (_, n) => `b_${n + 1}`))
})
