import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createHarness } from '../../src/testing/harness.ts'
import { reply, type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { weather } from '../support/scenario-tools.ts'
import { codesOf } from '../support/watch-turn.ts'

const long = `library.${'a_long_name_of_a_tool_'.repeat(4)}`

/** An agent that records which of its tools ran. The model calls tools by the names in its request, which `nameOf` finds by description. */
function setUp(ids: readonly string[], call: (nameOf: (id: string) => string) => ScriptedReply) {
  const ran: string[] = []
  const tools = ids.map((id) => defineTool({ id, description: `It is ${id}.`, params: z.object({}), run: () => ran.push(id) }))
  const model = scriptedModel(
    [
      ({ tools: offered = [] }) => call((id) => offered.find(({ description }) => description === `It is ${id}.`)?.name ?? ''),
      reply.native.answer('Done.'),
    ],
    { dialect: 'native' },
  )
  return { ran, harness: createHarness({ replies: [], model, tools: [...tools, weather()] }) }
}

const calling = (name: string): ScriptedReply => ({ calls: [{ name, input: '{}' }] })

describe('the name of a tool in a native call', () => {
  it('means the tool with this name in the request, even if the turn offers only some tools', async () => {
    const ids = ['a.b__c', 'a__b.c', long]
    for (const id of ids) {
      for (const offered of ids) {
        const { ran, harness } = setUp(ids, (nameOf) => calling(nameOf(id)))
        await harness.agent.run('c1', 'Go.', { tools: [offered] }).result
        expect(ran).toEqual(id === offered ? [id] : [])
        expect(await codesOf(harness)).toEqual(id === offered ? [] : ['protocol_violation.tool_not_offered'])
      }
    }
  })

  it('means the same tool in whatever order the tools are listed', async () => {
    const ids = ['web_tools__a.b', 'web_tools.a__b'] // the request lists the tools of `web_tools` first
    for (const id of ids) {
      const { ran, harness } = setUp(ids, (nameOf) => calling(nameOf(id)))
      await harness.agent.run('c1', 'Go.').result
      expect(ran).toEqual([id])
    }
  })

  it.each(['Sample__Run', 'functions.sample__run', 'default_api.sample__run', 'default_api:sample__run', 'SAMPLE.RUN', ' sample__run\n'])(
    'may be written as %j',
    async (written) => {
      const { ran, harness } = setUp(['sample.run'], () => calling(written))
      await harness.agent.run('c1', 'Go.').result
      expect(ran).toEqual(['sample.run'])
      expect(await codesOf(harness)).toEqual([])
    },
  )

  it('is not guessed if it may be one of two tools', async () => {
    const { ran, harness } = setUp(['sample.run', 'sample.RUN'], () => calling('Sample__Run'))
    await harness.agent.run('c1', 'Go.').result
    expect(ran).toEqual([])
    expect(await codesOf(harness)).toEqual(['protocol_violation.tool_call_invalid'])
  })
})

it('arguments that the output limit has cut off are reported as cut off, even if the provider has closed the call', async () => {
  const cut: ScriptedReply = { calls: [{ name: 'weather__today', input: '{"city":"Ro' }], finish: 'length' }
  for (const calls of [cut.calls, cut.calls?.map((call) => ({ ...call, open: true as const }))]) {
    const model = scriptedModel([{ ...cut, ...(calls && { calls }) }, reply.native.answer('Done.')], { dialect: 'native' })
    const harness = createHarness({ replies: [], model, tools: [weather()] })
    await harness.say('Rome?')
    expect(await codesOf(harness)).toEqual(['protocol_violation.action_truncated'])
  }
})
