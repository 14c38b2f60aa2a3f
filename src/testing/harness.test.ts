import { expect, it } from 'vitest'
import type { EntryEvent, TurnEvent } from '../core/event.ts'
import { createHarness } from './harness.ts'
import { reply } from './scripted-model.ts'

/** A listener that modifies the event it receives. */
function modify(event: TurnEvent | EntryEvent): void {
  if (event.type === 'entry' && event.change.type === 'blocks.appended')
    for (const block of event.change.blocks) Object.assign(block, { text: 'mine' })
}

it('throws when a listener or a reader modifies a stored change', async () => {
  const problems: unknown[] = []
  const harness = createHarness({
    replies: [reply.answer('Hello.')],
    onEntry: (_, event) => modify(event),
    onProblem: ({ where, error }) => problems.push([where, error instanceof TypeError]),
  })
  const { answer, events } = await harness.say('Hi.')
  expect(answer).toBe('Hello.')
  expect(problems).not.toEqual([])
  expect(problems.every((problem) => JSON.stringify(problem) === '["onEntry",true]')).toBe(true)
  expect(() => events.forEach(modify)).toThrow(TypeError)
  expect(JSON.stringify(await harness.journal())).not.toContain('mine')
})
