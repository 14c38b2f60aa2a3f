import { stripVTControlCharacters } from 'node:util'
import { expect, it } from 'vitest'
import { weather } from '../../test/support/scenario-tools.ts'
import type { TurnEvent } from '../core/event.ts'
import { ofUnknownType, prompt, withIds } from '../testing/blocks.ts'
import { createHarness } from '../testing/harness.ts'
import { reply } from '../testing/scripted-model.ts'
import { markdownFor } from './markdown.ts'
import { styleFor } from './terminal.ts'
import { createTurnPrinter } from './turn-printer.ts'

async function turnEvents(): Promise<readonly TurnEvent[]> {
  const replies = [
    reply.call('react.plan', { mode: 'new', steps: ['look', 'say'] }, { notes: 'First a plan.' }),
    reply.call('weather.today', { city: 'Rome' }, { notes: '✓ [1] looked' }),
    reply.call('weather.yesterday', {}),
    reply.answer('Clear.\nAnd warm.', { followups: ['And tomorrow?'] }),
  ]
  return (await createHarness({ replies, tools: [weather()] }).say('Rome?')).events
}

function printed(events: readonly TurnEvent[]): string {
  let text = ''
  const write = (chunk: string) => {
    text += chunk
  }
  const printer = createTurnPrinter({ answer: write, progress: write, failures: write }, styleFor({}, {}))
  for (const event of events) printer.print(event)
  printer.endLine()
  return text
}

it('prints a turn', async () => {
  expect(printed(await turnEvents())).toMatchInlineSnapshot(`
    "Next step.
    First a plan.
    → react.plan {"mode":"new","steps":["look","say"]}
      □ look
      □ say
      ✓
    Next step.
    ✓ [1] looked
      ✓ look
      □ say
    → weather.today {"city":"Rome"}
      ✓
    Next step.
      ! protocol_violation.tool_call_invalid: There is no tool "weather.yesterday". Nothing ran. Call a tool that the catalogue lists, by its full id.
    Done.
    Clear.
    And warm.
      · And tomorrow?
    "
  `)
})

it('prints the same text from entries alone as from live events', async () => {
  const events = await turnEvents()
  const later = printed(events.filter(({ type }) => type === 'entry'))
  expect(later.split('\n').filter((line) => line !== '')).toEqual(
    printed(events)
      .split('\n')
      .filter((line) => line !== ''),
  )
})

it('begins a new line when another process repeats the model call after a crash', () => {
  const lane = { marker: 'answer', artifact_name: 'react.final_answer.0', format: 'markdown' as const }
  const piece = (index: number, text: string): TurnEvent => ({
    ...{ type: 'lane.delta', turn_id: 't1', iteration: 0, attempt: 0, delta: { ...lane, index, text, completed: false } },
  })
  expect(printed([piece(0, 'It is '), piece(1, 'cl'), piece(0, 'It is '), piece(1, 'clear.')])).toBe('It is cl\nIt is clear.\n')
})

it('prints nothing for blocks of unknown types, also types named like object properties', () => {
  const blocks = withIds(['future.kind', 'constructor', 'toString', '__proto__'].map((type) => ofUnknownType(type, prompt('x'))))
  expect(printed([{ type: 'entry', seq: 1, change: { type: 'blocks.appended', blocks } }])).toBe('')
})

it('renders the Markdown of answers, streamed or not, and never lets a model write escape sequences', async () => {
  const answer = '# Title\n\n- **one** \u001b]52;c;aGFja2Vk\u0007\n- \u001b[31mtwo\n```\n**code**'
  for (const chunks of [1, 7, 10_000]) {
    const replies = [{ text: reply.answer(answer), chunks }, reply.answer('*Second* answer.')]
    const harness = createHarness({ replies })
    const events = [...(await harness.say('Go.')).events, ...(await harness.say('Go on.')).events]
    for (const shown of [events, events.filter(({ type }) => type === 'entry')]) {
      let text = ''
      const write = (chunk: string) => {
        text += chunk
      }
      const terminal = { isTTY: true }
      const outputs = { answer: write, progress: () => {}, failures: write, markdown: markdownFor(terminal, {}) }
      const printer = createTurnPrinter(outputs, styleFor(terminal, {}))
      shown.forEach(printer.print)
      printer.endLine()
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the styles of a terminal
      const styles = new Set(text.match(/\u001b[^a-zA-Z]*[a-zA-Z]/g))
      expect([...styles].toSorted()).toEqual(['\x1b[1m', '\x1b[22m', '\x1b[2m', '\x1b[23m', '\x1b[36m', '\x1b[39m', '\x1b[3m'].toSorted())
      expect(stripVTControlCharacters(text).trimEnd()).toBe('Title\n\n• one ␛]52;c;aGFja2Vk␇\n• ␛[31mtwo\n```\n**code**\nSecond answer.')
    }
  }
})
