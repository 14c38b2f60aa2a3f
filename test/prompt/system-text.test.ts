import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { systemText } from '../../src/agent/prompts/texts.ts'
import { builtInTools } from '../../src/agent/tools.ts'
import { createHarness } from '../../src/testing/harness.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import { scriptedSandbox } from '../../src/testing/scripted-sandbox.ts'
import { catalogText } from '../../src/tools/catalog.ts'
import { defineTool } from '../../src/tools/define.ts'
import { createExecTools } from '../../src/tools/exec/exec-tools.ts'
import { codeSearch, program, search, weather } from '../support/scenario-tools.ts'

const draw = defineTool({
  id: 'sample.draw',
  description: 'Draw a picture.',
  params: z.object({
    shape: z.enum(['circle', 'square']).describe('what to draw'),
    colours: z.array(z.string()).default(['black']),
    frame: z.object({ width: z.number() }).optional().describe('around it'),
  }),
  returns: 'the picture',
  constraints: ['one picture per call'],
  run: () => 'a picture',
})

/**
 * Compares a text with its golden file. UPDATE_GOLDEN=1 accepts the current text. Check the difference first, because it changes what the
 * model reads.
 */
function compare(name: string, actual: string): void {
  const file = join(import.meta.dirname, '../golden/system', name)
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(file, `${actual}\n`)
  expect(`${actual}\n`).toBe(readFileSync(file, 'utf8'))
}

describe('the system text', () => {
  it('has the response format, the working rules, the tools and the instructions of the owner, as in the golden', () => {
    compare('system.txt', systemText({ tools: builtInTools(), customisation: 'Call the user “dear friend”.' }))
  })

  it('in the dialect native equals the golden file, and lists no tools', () => {
    const text = systemText({ tools: builtInTools(), dialect: 'native', customisation: 'Call the user “dear friend”.' })
    compare('system-native.txt', text)
    expect(text).not.toContain('AVAILABLE')
  })

  it('lists every tool with its own description, in the given order', () => {
    compare('catalog.txt', catalogText([...builtInTools(), search(), program(), weather(), draw]))
  })

  it('lists the exec tools of a sandbox with what programs can use', () => {
    const exec = createExecTools({
      sandbox: scriptedSandbox({}),
      callable: [codeSearch(), weather()],
      readers: {},
      limits: { stopGraceMs: 0, maxResultBytes: 0 },
    })
    compare('exec-catalog.txt', catalogText(exec))
  })

  it('loop 17.104: is byte-identical in every round of every turn', async () => {
    const harness = createHarness({
      tools: [weather()],
      replies: [
        reply.call('weather.today', { city: 'Rome' }),
        '',
        reply.call('react.plan', { mode: 'new', steps: ['a'] }),
        reply.answer('A.'),
        reply.answer('B.'),
      ],
    })
    await harness.say('One.')
    harness.clock.advance(86_400_000)
    await harness.say('Two.')
    const texts = harness.model.requests.filter(({ role }) => role === 'decision').map(({ system }) => system)
    expect(texts).toHaveLength(5)
    expect(new Set(texts).size).toBe(1)
  })

  it('loop 17.104: its roster counts the tools it lists', () => {
    const tools = [...builtInTools(), weather(), draw]
    for (const section of catalogText(tools)
      .split(/^\[AVAILABLE /m)
      .slice(1)) {
      const [, count = '', ids = ''] = /^(\d+) tools?: (.*)$/m.exec(section) ?? []
      const listed = [...section.matchAll(/^🔧 \[\d+\] (\S+)$/gm)].map(([, id]) => id)
      expect(listed).toEqual(ids.split(', '))
      expect(listed).toHaveLength(Number(count))
    }
  })

  it('loop 17.104: react.write takes path, channel, content, kind, in this order', () => {
    const text = catalogText(builtInTools())
    const write = text.slice(text.indexOf('react.write\npurpose'))
    const order = ['path', 'channel', 'content', 'kind'].map((name) => write.indexOf(`\n  ${name}: `))
    expect(order).toEqual([...order].sort((a, b) => a - b))
    expect(write).toMatch(
      /path: .*\(FIRST FIELD\).*\n.*channel: .*\(SECOND FIELD\).*\n.*content: .*\(THIRD FIELD\).*\n.*kind: .*\(FOURTH FIELD\)/,
    )
    expect(write).toMatch(/constraint: write the parameters in exactly this order: path, channel, content, kind/)
  })

  it('does not depend on the time or on the user', () => {
    expect(systemText({ tools: builtInTools() })).toBe(systemText({ tools: [...builtInTools()] }))
    expect(systemText({ tools: builtInTools(), instructions: 'Be brief.' })).toMatch(
      /^\[HOW YOU ANSWER\][\s\S]*\n\nBe brief\.\n\n\[AVAILABLE/,
    )
  })
})
