import { describe, expect, it } from 'vitest'
import { createHarness } from '../testing/harness.ts'
import { answers } from '../testing/scripted-model.ts'
import { agentSettings } from './settings.ts'

const conversation = 'c1'
const noText = [undefined, null, 5, {}] as unknown as readonly string[]

describe('whoever has no compiler', () => {
  it.each(noText)('is told that %s is nothing that can be said, and nothing begins', async (text) => {
    const stage = createHarness({ replies: [answers('One.')] })
    const { agent } = stage
    const said = [
      agent.run({ conversation, input: text }).result,
      agent.submit(conversation, text),
      agent.followUp(conversation, text),
      agent.steer(conversation, text),
      agent.notify(conversation, text),
    ]
    for (const each of said) await expect(each).rejects.toThrow(/must be a string, not/)
    await expect(agent.run({ conversation: text, input: 'Hello.' }).result).rejects.toThrow('conversation must be a string, not')
    expect(await stage.journal()).toEqual([])
    expect([...agent.running]).toEqual([])
    expect(await stage.say('Hello.')).toMatchObject({ answer: 'One.' })
  })

  it.each(['maxSeconds', 'maxMoney'] as const)('is told that a limit must be a number: %s', (limit) => {
    const priceOf = () => 1
    for (const wrong of [Number.NaN, -1, '5 minutes' as unknown as number]) {
      expect(() => agentSettings({ priceOf, [limit]: wrong })).toThrow(RangeError)
    }
    expect(agentSettings({ priceOf, [limit]: 0 })[limit]).toBe(0)
  })
})
