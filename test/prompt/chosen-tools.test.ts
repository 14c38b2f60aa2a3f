import { describe, expect, it } from 'vitest'
import { createHarness, type HarnessOptions } from '../../src/testing/harness.ts'
import { type Reply, reply } from '../../src/testing/scripted-model.ts'
import { contextWithRoom } from '../support/context-size.ts'
import { library, search } from '../support/scenario-tools.ts'

const builtInNames = /(?<![\w.:/"-])((?:react|rendering_tools|exec_tools)\.[a-z_]+)(?![\w]|\.[a-z])/g

/** The built-in tools that the requests of a conversation name. */
async function namedIn(
  tools: readonly string[] | false,
  replies: readonly Reply[],
  options: Partial<HarnessOptions>,
  ...messages: string[]
) {
  const harness = createHarness({ builtIn: { tools }, tools: [library(), search()], replies, ...options })
  for (const message of messages) {
    await harness.say(message)
    harness.clock.advance?.(3_600_000)
  }
  const texts = harness.model.requests.flatMap(({ system, parts }) => [
    system,
    ...parts.map((part) => (part.type === 'text' ? part.text : '')),
  ])
  return { named: new Set(texts.flatMap((text) => [...text.matchAll(builtInNames)].map(([, name = '']) => name))), text: texts.join('\n') }
}

const page = (number: number) => reply.call('library.fetch', { page: number })
const long = `Which colour? ${'Tell me exactly. '.repeat(3_000)}`

/** A conversation with sources, cut texts, a compaction and blocks that expire. */
const eventful = [
  reply.call('web_tools.web_search', { query: 'x' }),
  page(1),
  page(2),
  reply.answer('Red.'),
  'A summary.',
  reply.answer('Red.'),
  reply.answer('Blue.'),
]

describe('built-in tools that the application chose', () => {
  it('are the only built-in tools of the agent and the only ones that prompts name', async () => {
    for (const tools of [false, ['react.write'], ['react.read'], ['react.plan', 'react.hide']] as const) {
      const settings = { contextTokens: contextWithRoom(1_600, { tools }), keepRecentTurns: 1 }
      const { named, text } = await namedIn(tools, eventful, { settings }, 'Read.', long.slice(0, 4_000), 'And now?')
      expect(text, String(tools)).toContain('[COMPACTED PRIOR CONVERSATION MEMORY]')
      expect([...named].filter((name) => !(tools || []).some((chosen) => chosen === name))).toEqual([])
    }
  })

  it('texts that are cut or hidden name react.read only to an agent that has it', async () => {
    const settings = { contextTokens: 200_000 }
    const replies = [page(1), reply.answer('Red.'), page(2), reply.answer('Blue.'), reply.answer('Green.')]
    const without = await namedIn(false, replies, { settings }, long, long, 'And now?')
    expect(without.text).toContain('truncated')
    expect([...without.named]).toEqual([])
    const having = await namedIn(['react.read'], replies, { settings }, long, long, 'And now?')
    expect([...having.named]).toEqual(['react.read'])
  })

  it('a whole namespace can be chosen, and rendering: false still leaves the tools for documents out', () => {
    const idsWith = (builtIn: HarnessOptions['builtIn']) => {
      const harness = createHarness({ replies: [reply.answer('Hi.')], builtIn: builtIn ?? {} })
      return harness
        .say('Hi.')
        .then(() => [...(harness.model.requests.at(-1)?.system ?? '').matchAll(/^🔧 \[\d+\] (\S+)$/gm)].map(([, id]) => id))
    }
    const rendering = { mentions: () => [], render: () => Promise.reject(new Error('unused')), kinds: new Set(['pdf']) } as never
    return Promise.all([
      expect(idsWith({ tools: ['react.*'], rendering })).resolves.toContain('react.plan'),
      expect(idsWith({ tools: ['react.*'], rendering })).resolves.not.toContain('rendering_tools.write_pdf'),
      expect(idsWith({ tools: ['rendering_tools.*'], rendering: false })).resolves.toEqual([]),
      expect(idsWith({ tools: ['react.memsearch', 'react.read'] })).resolves.toEqual(['react.read']), // there is no memory to search
    ])
  })
})
