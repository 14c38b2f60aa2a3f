import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decisionChannels } from '../decision/decision.ts'
import { readNativeParts } from '../decision/native-response.ts'
import { withoutRewriting } from './lane.ts'
import { createNativeLanes } from './native-lanes.ts'
import { createPartCollector, type NativeEvent } from './native-parts.ts'

const lanesOf = () =>
  createNativeLanes({
    iteration: 0,
    executionId: 'x',
    executionIdOf: (position) => `call-${position}`,
    channels: decisionChannels,
    toolIdOf: (name) => name.replace('__', '.'),
    hasCallInText: () => false,
    replacer: withoutRewriting,
    mimeOf: () => 'text/markdown',
  })

/** The events of a call that writes a file. */
const writing = (index: number, name: string): readonly NativeEvent[] => [
  { type: 'call.start', index, name: 'react__write' },
  {
    type: 'call.delta',
    index,
    text: JSON.stringify({ path: `files/${name}`, channel: 'canvas', content: `Text of ${name}.`, kind: 'display' }),
  },
  { type: 'call.end', index },
]

/** The texts of all lanes, by their names, and how many lanes have ended. */
function shown(events: readonly NativeEvent[]) {
  const lanes = lanesOf()
  const deltas = [...events.flatMap((event) => lanes.push(event)), ...lanes.end('whole')]
  const names = new Set(deltas.map(({ artifact_name }) => artifact_name))
  return {
    texts: deltas.map(({ text }) => text).join('|'),
    open: [...names].filter((name) => !deltas.some(({ artifact_name, completed }) => artifact_name === name && completed)),
  }
}

// An adapter of an application may number the calls of a response in any way.
describe('calls with unusual indexes', () => {
  it.each([[[7]], [[4_000_000_000]], [[Number.MAX_SAFE_INTEGER]], [[5, 2]]])('%j: the content of every call is shown', (indexes) => {
    const { texts, open } = shown(indexes.flatMap((index, position) => writing(index, `${position}.md`)))
    for (const position of indexes.keys()) expect(texts).toContain(`Text of ${position}.md.`)
    expect(open).toEqual([])
  })

  it('two calls with the same index: the content of both is shown, and all lanes end', () => {
    const [start, text] = writing(0, 'a.md')
    const { texts, open } = shown([start as NativeEvent, text as NativeEvent, ...writing(0, 'b.md')])
    expect(texts).toContain('Text of a.md.')
    expect(texts).toContain('Text of b.md.')
    expect(open).toEqual([])
  })

  it('arguments and ends of calls that have not begun are ignored', () => {
    const events: readonly NativeEvent[] = [
      { type: 'call.delta', index: 3, text: '{}' },
      { type: 'call.end', index: 9 },
      { type: 'text.delta', text: 'Hello.' },
    ]
    expect(shown(events)).toEqual({ texts: 'Hello.|', open: [] })
  })
})

it('text that goes on after reasoning is shown as the journal has it', () => {
  const piece = fc.record({
    type: fc.constantFrom('text.delta', 'reasoning.delta'),
    text: fc.constantFrom('One', ' two.', '\n', '', '{"a":1}'),
  })
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const events = pieces as readonly NativeEvent[]
      const lanes = lanesOf()
      const deltas = [...events.flatMap((event) => lanes.push(event)), ...lanes.end('whole')]
      const collector = createPartCollector()
      for (const event of events) collector.add(event)
      const answer =
        readNativeParts(collector.parts)
          .channels.find(({ name }) => name === 'answer')
          ?.instances.join('') ?? ''
      const text = deltas.flatMap((delta) => (delta.marker === 'answer' ? [delta.text] : [])).join('')
      expect(text.trim()).toBe(answer.trim())
    }),
  )
})
