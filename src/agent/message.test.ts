import { describe, expect, it } from 'vitest'
import { createHarness } from '../testing/harness.ts'
import { reply } from '../testing/scripted-model.ts'
import { agentSettings } from './settings.ts'

const conversationId = 'c1'
const noText = [undefined, null, 5, {}] as unknown as readonly string[]

describe('a caller without a compiler', () => {
  it.each(noText)('gets an error for the text %s, and no turn starts', async (text) => {
    const harness = createHarness({ replies: [reply.answer('One.')] })
    const { agent } = harness
    const calls = [
      agent.run(conversationId, text).result,
      agent.send(conversationId, text),
      agent.steer(conversationId, text),
      agent.notify(conversationId, text),
    ]
    for (const call of calls) await expect(call).rejects.toThrow(/must be a string, not/)
    await expect(agent.run(text, 'Hello.').result).rejects.toThrow('conversationId must be a string, not')
    expect(await harness.journal()).toEqual([])
    expect([...agent.running]).toEqual([])
    expect(await harness.say('Hello.')).toMatchObject({ answer: 'One.' })
  })

  it.each([
    { stopGraceMs: Number.POSITIVE_INFINITY },
    { exitGraceMs: -1 },
    { wrapUpSeconds: Number.NaN },
    { retryDelaysMs: [1_000, Number.POSITIVE_INFINITY] },
  ])('gets an error for a time that no timer can wait: %o', (settings) => {
    expect(() => createHarness({ replies: [], settings })).toThrow(RangeError)
  })

  it.each(['maxSeconds', 'maxMoney'] as const)('gets an error for an invalid limit: %s', (limit) => {
    const priceOf = () => 1
    for (const wrong of [Number.NaN, -1, '5 minutes' as unknown as number]) {
      expect(() => agentSettings({ priceOf, [limit]: wrong })).toThrow(RangeError)
    }
    expect(agentSettings({ priceOf, [limit]: 0 })[limit]).toBe(0)
  })
})
