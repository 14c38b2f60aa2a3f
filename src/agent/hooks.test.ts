import { describe, expect, it, onTestFinished } from 'vitest'
import { weather } from '../../test/support/scenario-tools.ts'
import { createHarness, type HarnessOptions } from '../testing/harness.ts'
import { answers, calls } from '../testing/scripted-model.ts'
import type { Problem } from './agent-context.ts'

const breaks = () => {
  throw new Error('the counter broke')
}

const stageOf = (options: Partial<HarnessOptions>) =>
  createHarness({ tools: [weather()], replies: [calls('weather.today', { city: 'Rome' }), answers('Clear.')], ...options })

const journalOf = async (options: Partial<HarnessOptions>) => {
  const stage = stageOf(options)
  const { exitReason, answer } = await stage.say('How is it in Rome?')
  return { exitReason, answer, journal: await stage.journal() }
}

describe('whoever only looks on', () => {
  it('and throws at every entry is reported, and changes nothing', async () => {
    const problems: Problem[] = []
    const watched = await journalOf({ onEntry: breaks, onProblem: (problem) => problems.push(problem) })
    expect(watched).toEqual(await journalOf({}))
    expect(problems.length).toBe(watched.journal.length)
    expect(problems[0]).toMatchObject({ where: 'onEntry', error: { message: 'the counter broke' } })
  })

  it('and cannot even be told of problems is warned of, and changes nothing', async () => {
    const warnings: string[] = []
    const hear = ({ message }: Error) => void warnings.push(message)
    process.on('warning', hear)
    onTestFinished(() => void process.off('warning', hear))
    expect(await journalOf({ onEntry: breaks, onProblem: breaks })).toEqual(await journalOf({}))
    await new Promise(setImmediate)
    expect(warnings[0]).toContain('onProblem threw an error while reporting a problem in "onEntry"')
  })

  it('and names prices that are none leaves the price unknown: the turn ends, and says why', async () => {
    for (const priceOf of [breaks, () => Number.NaN, () => -1]) {
      const { exitReason, answer } = await journalOf({ settings: { maxMoney: 1, priceOf } })
      expect(exitReason).toBe('budget')
      expect(answer).toMatch(/the price of the model is not known/)
    }
  })
})
