import { describe, expect, it } from 'vitest'
import { blocksOfTurn } from '../../src/core/timeline/timeline.ts'
import { createHarness } from '../../src/testing/harness.ts'
import { createSmallModel } from '../../src/testing/small-model.ts'
import { library, weather } from '../support/scenario-tools.ts'

const plan = {
  calls: [
    { toolId: 'weather.today', params: { city: 'Rome' } },
    { toolId: 'library.fetch', params: { page: 3 } },
  ],
  answer: 'It is clear, and house 3 has a red door.',
}

describe.each(['native', 'channels'] as const)('a small local model in the dialect %s', (dialect) => {
  it('every turn ends with an answer for the user, and most with the right one', async () => {
    const mistakes = new Map<string, number>()
    let [turns, right] = [0, 0]
    for (let seed = 0; seed < 150; seed++) {
      const model = createSmallModel(plan, { seed, dialect })
      const harness = createHarness({ replies: [], model: { ...model, requests: [], left: 0 }, tools: [weather(), library()] })
      for (const text of ['How is it?', 'And again?']) {
        const turn = await harness.say(text)
        expect(turn.answer.trim()).not.toBe('')
        expect(turn.answer).not.toMatch(/<tool_call>|<think>|"arguments"/)
        expect(['complete', 'protocol_violation']).toContain(turn.exitReason)
        const blocks = blocksOfTurn(await harness.timeline(), turn.turnId)
        expect(blocks.filter(({ type }) => type === 'assistant.completion')).toHaveLength(1)
        turns++
        if (turn.answer.includes('red door')) right++
      }
      for (const mistake of model.mistakes) mistakes.set(mistake, (mistakes.get(mistake) ?? 0) + 1)
      await harness.agent.close()
    }
    expect(mistakes.size).toBeGreaterThanOrEqual(12)
    expect(right / turns).toBeGreaterThan(dialect === 'native' ? 0.9 : 0.6)
  }, 60_000)
})
