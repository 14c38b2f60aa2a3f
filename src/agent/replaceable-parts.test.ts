import { expect, it } from 'vitest'
import { createMemoryBlobs } from '../adapters/blobs/memory.ts'
import { createMemoryStore } from '../adapters/store/memory/store.ts'
import { createFixedClock } from '../testing/fixed-clock.ts'
import { reply, scriptedModel } from '../testing/scripted-model.ts'
import { createAgentFrom } from './agent.ts'
import type { ReplaceParts } from './replaceable-parts.ts'

function openAgent(model: ReturnType<typeof scriptedModel>) {
  const clock = createFixedClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  let replace: ReplaceParts | undefined
  const agent = createAgentFrom({ model, store, clock, instructions: 'You are the first.' }, (given) => {
    replace = given
  })
  return { agent, replace: (parts: Parameters<ReplaceParts>[0]) => replace?.(parts) }
}

it('a running turn ends with the old parts, and turns that start later use the new ones', async () => {
  const second = scriptedModel([reply.answer('The second.'), reply.answer('The second again.')])
  const first = scriptedModel([
    {
      text: reply.call('react.plan', { mode: 'new', steps: ['one'] }),
      onChunk: () => replace({ model: second, instructions: 'You are the second.' }),
    },
    reply.answer('The first.'),
  ])
  const { agent, replace } = openAgent(first)
  const events: string[] = []
  const following = (async () => {
    for await (const event of agent.follow('c1'))
      if (event.type === 'lane.delta' && event.delta.marker === 'answer') events.push(event.delta.text)
  })()
  expect((await agent.run('c1', 'Who?').result).answer).toBe('The first.')
  expect((await agent.run('c1', 'Who?').result).answer).toBe('The second.')
  expect((await agent.run('c2', 'Who?').result).answer).toBe('The second again.')
  expect(first.requests.filter(({ role }) => role === 'decision').map(({ system }) => system.includes('the first'))).toEqual([true, true])
  expect(second.requests.filter(({ role }) => role === 'decision').map(({ system }) => system.includes('the second'))).toEqual([true, true])
  await agent.close()
  await following
  expect(events.join('')).toContain('The first.')
  expect(events.join('')).toContain('The second.') // a follower from before the replacement sees the live text of the new model
})

it('parts with a mistake are refused, and the old ones stay', async () => {
  const { agent, replace } = openAgent(scriptedModel([reply.answer('The first.')]))
  expect(() => replace({ model: scriptedModel([]), tools: 'all' } as never)).toThrow('`tools` must be')
  expect((await agent.run('c1', 'Who?').result).answer).toBe('The first.')
  await agent.close()
})
