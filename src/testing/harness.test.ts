import { expect, it } from 'vitest'
import { z } from 'zod'
import type { EntryEvent, TurnEvent } from '../core/event.ts'
import { defineTool } from '../tools/define.ts'
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

const lookup = defineTool({
  id: 'shop.find',
  description: 'Finds an item.',
  params: z.object({ item: z.string() }),
  run: ({ item }) => {
    if (item === 'broken') throw new Error('the catalogue is closed')
    return { item }
  },
})
const answer = reply.answer('Found.')

it.each([
  ['a tool that does not exist', 'shop.look', {}],
  ['wrong parameters', 'shop.find', { name: 'kettle' }],
  ['a tool that fails', 'shop.find', { item: 'broken' }],
])('the result of a turn shows %s, and a strict harness rejects it', async (_, toolId, params) => {
  const replies = [reply.call(toolId, params), answer]
  const { exitReason, notices } = await createHarness({ tools: [lookup], replies }).say('Find it.')
  expect(exitReason).toBe('complete')
  expect(notices).toMatchObject([{ code: expect.any(String), message: expect.any(String) }])
  const strict = createHarness({ tools: [lookup], replies, strict: true })
  await expect(strict.say('Find it.')).rejects.toThrow(notices[0]?.message)
})

it('a strict harness accepts a turn without mistakes', async () => {
  const replies = [reply.call('shop.find', { item: 'kettle' }), answer]
  const { notices } = await createHarness({ tools: [lookup], replies, strict: true }).say('Find it.')
  expect(notices).toEqual([])
})
