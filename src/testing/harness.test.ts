import { expect, it } from 'vitest'
import type { EntryEvent, TurnEvent } from '../core/event.ts'
import { createHarness } from './harness.ts'
import { answers } from './scripted-model.ts'

/** A listener that takes what it was handed for its own. */
function scribble(event: TurnEvent | EntryEvent): void {
  if (event.type === 'entry' && event.change.type === 'blocks.appended')
    for (const block of event.change.blocks) Object.assign(block, { text: 'mine' })
}

it('tells whoever changes what was entered, on whichever way it was handed to them', async () => {
  const problems: unknown[] = []
  const stage = createHarness({
    replies: [answers('Hello.')],
    onEntry: (_, event) => scribble(event),
    onProblem: ({ where, error }) => problems.push([where, error instanceof TypeError]),
  })
  const { answer, events } = await stage.say('Hi.')
  expect(answer).toBe('Hello.')
  expect(problems).not.toEqual([])
  expect(problems.every((problem) => JSON.stringify(problem) === '["onEntry",true]')).toBe(true)
  expect(() => events.forEach(scribble)).toThrow(TypeError)
  expect(JSON.stringify(await stage.journal())).not.toContain('mine')
})
