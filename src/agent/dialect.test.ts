import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createHarness } from '../testing/harness.ts'
import { reply, scriptedModel } from '../testing/scripted-model.ts'
import { defineTool } from '../tools/define.ts'
import { dialectOf } from './dialect.ts'

const many = Array.from({ length: 129 }, (_, n) =>
  defineTool({ id: `many.t${n}`, description: 'One of many.', params: z.object({}), run: () => n }),
)
const dialectsOf = (journal: readonly { readonly type: string; readonly role?: string; readonly dialect?: string }[]) =>
  journal.filter(({ type, role }) => type === 'response.received' && role === undefined).map(({ dialect = 'channels' }) => dialect)

describe('the dialect of a model', () => {
  it('is that of the table, unless the setting chooses another; a model without native calls speaks channels', () => {
    expect(dialectOf('auto', { dialect: 'native' })).toBe('native')
    expect(dialectOf('auto', { dialect: 'channels' })).toBe('channels')
    expect(dialectOf('native', { dialect: 'channels' })).toBe('native')
    expect(dialectOf('channels', { dialect: 'native' })).toBe('channels')
    expect(dialectOf('native', {})).toBe('channels')
  })

  it('with more tools than providers accept is channels', async () => {
    const model = scriptedModel([reply.answer('Hi.')], { dialect: 'native' })
    const harness = createHarness({ replies: [], model, tools: many })
    expect(await harness.say('Hello')).toMatchObject({ answer: 'Hi.' })
    expect(dialectsOf(await harness.journal())).toEqual(['channels'])
  })

  it('that the settings ask for and the agent can not speak is an error', () => {
    const settings = { dialect: 'native' } as const
    expect(() => createHarness({ replies: [], settings })).toThrow(/scripted can not call tools in the form of a provider/)
    const model = scriptedModel([], { dialect: 'native' })
    expect(() => createHarness({ replies: [], model, tools: many, settings })).toThrow(/providers accept at most 128/)
  })

  it('changes with the model of a turn', async () => {
    const other = scriptedModel([reply.native.answer('Two.')], { dialect: 'native', name: 'other' })
    const harness = createHarness({ replies: [reply.answer('One.'), reply.answer('Three.')] })
    await harness.say('First')
    expect(await harness.agent.run('c1', 'Second', { model: other }).result).toMatchObject({ answer: 'Two.' })
    expect(await harness.say('Third')).toMatchObject({ answer: 'Three.' })
    expect(dialectsOf(await harness.journal())).toEqual(['channels', 'native', 'channels'])
  })

  it('becomes channels when the provider refuses tools, with the setting auto', async () => {
    const refusal = {
      error: { kind: 'invalid_request' as const, message: 'The provider refused the request. The provider said: x does not support tools' },
    }
    const model = scriptedModel([refusal, reply.answer('One.'), reply.answer('Two.')], { dialect: 'native' })
    const harness = createHarness({ replies: [], model })
    expect(await harness.say('First')).toMatchObject({ answer: 'One.' })
    expect(await harness.say('Second')).toMatchObject({ answer: 'Two.' })
    expect(dialectsOf(await harness.journal())).toEqual(['channels', 'channels'])
    const insisting = createHarness({
      replies: [],
      model: scriptedModel([refusal], { dialect: 'native' }),
      settings: { dialect: 'native' },
    })
    expect(await insisting.say('First')).toMatchObject({ exitReason: 'error' })
  })
})
