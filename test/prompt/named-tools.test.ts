import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { systemText } from '../../src/agent/prompts/texts.ts'
import { builtInTools } from '../../src/agent/tools.ts'
import { createHarness } from '../../src/testing/harness.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { contextWithRoom } from '../support/context-size.ts'
import { library, search } from '../support/scenario-tools.ts'

/**
 * Matches names of tools. Names with a third segment are left out, because they are parts of paths or codes: `react.turn.index`,
 * `react.hide.ok`.
 */
const names = /(?<![\w.:/"-])((?:react|[a-z]+_tools)\.[a-z_]+)(?![\w]|\.[a-z])/g
const namedTools = (text: string) => new Set([...text.matchAll(names)].map(([, name = '']) => name))

const memory = { search: async () => [] } as never
const idsOf = (tools: readonly Tool[]) => tools.map(({ id }) => id)
const builtIns = idsOf(builtInTools())

describe('the tools that a prompt names exist', () => {
  it('in the system text, with every built-in tool and with any of them missing', () => {
    const all = builtInTools({ memory, knowledgeSearch: memory })
    for (const missing of [undefined, ...all]) {
      const tools = all.filter((tool) => tool !== missing)
      expect(idsOf(tools)).toEqual(expect.arrayContaining([...namedTools(systemText({ tools }))]))
    }
    expect(namedTools(systemText({ tools: all }))).toContain('react.read')
  })

  it('in the prompts of all scenarios', () => {
    const scenarios = join(import.meta.dirname, '../scenarios')
    for (const folder of readdirSync(scenarios)) {
      const file = readdirSync(join(scenarios, folder)).find((name) => name === 'prompt.txt')
      if (file === undefined) continue
      const text = readFileSync(join(scenarios, folder, file), 'utf8')
      const called = [...text.matchAll(/^\[TOOL CALL \S+\]\.call (\S+)$/gm)].map(([, id = '']) => id)
      expect([folder, ...builtIns, ...called]).toEqual(expect.arrayContaining([...namedTools(text)]))
    }
  })

  it('in the sources and in a summary: react.memsearch and web_tools.web_fetch are named only to an agent that has them', async () => {
    const page = (number: number) => reply.call('library.fetch', { page: number })
    const fetch: Tool = { ...search(), id: 'web_tools.web_fetch' }
    const lastPrompt = async (tools: readonly Tool[], builtIn: object) => {
      const harness = createHarness({
        tools: [library(), search(), ...tools],
        builtIn,
        settings: { contextTokens: contextWithRoom(4_300), keepRecentTurns: 1 },
        replies: [
          reply.call('web_tools.web_search', { query: 'x' }),
          page(1),
          page(2),
          reply.answer('Red.'),
          'A summary.',
          reply.answer('Red.'),
        ],
      })
      await harness.say('Read pages one and two.')
      await harness.say(`Which colour? ${'Tell me exactly. '.repeat(200)}`)
      const { parts = [], system } = harness.model.requests.at(-1) ?? {}
      const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
      expect(text).toContain('[COMPACTED PRIOR CONVERSATION MEMORY]')
      return { text, system }
    }
    const without = await lastPrompt([], {})
    expect(without.text).not.toMatch(/memsearch|web_fetch/)
    const having = await lastPrompt([fetch], { memory })
    expect(having.text).toContain('react.memsearch')
    expect(having.text).toContain('web_tools.web_fetch')
  })
})
