import { describe, expect, it, onTestFinished } from 'vitest'
import { weather } from '../../test/support/scenario-tools.ts'
import { createHarness, type HarnessOptions } from '../testing/harness.ts'
import { reply } from '../testing/scripted-model.ts'
import type { Problem } from './agent-context.ts'

const breaks = () => {
  throw new Error('the counter broke')
}

const createTestHarness = (options: Partial<HarnessOptions>) =>
  createHarness({ tools: [weather()], replies: [reply.call('weather.today', { city: 'Rome' }), reply.answer('Clear.')], ...options })

const journalOf = async (options: Partial<HarnessOptions>) => {
  const harness = createTestHarness(options)
  const { exitReason, answer } = await harness.say('How is it in Rome?')
  return { exitReason, answer, journal: await harness.journal() }
}

describe('a callback of the application', () => {
  it('that throws at every entry is reported and has no effect on the turn', async () => {
    const problems: Problem[] = []
    const result = await journalOf({ onEntry: breaks, onProblem: (problem) => problems.push(problem) })
    expect(result).toEqual(await journalOf({}))
    expect(problems.length).toBe(result.journal.length)
    expect(problems[0]).toMatchObject({ where: 'onEntry', error: { message: 'the counter broke' } })
  })

  it('causes a process warning when onProblem itself throws, and has no effect on the turn', async () => {
    const warnings: string[] = []
    const record = ({ message }: Error) => void warnings.push(message)
    process.on('warning', record)
    onTestFinished(() => void process.off('warning', record))
    expect(await journalOf({ onEntry: breaks, onProblem: breaks })).toEqual(await journalOf({}))
    await new Promise(setImmediate)
    expect(warnings[0]).toContain('onProblem threw an error while reporting a problem in "onEntry"')
  })

  it('that returns an invalid price makes the price unknown: the turn ends and says why', async () => {
    for (const priceOf of [breaks, () => Number.NaN, () => -1]) {
      const { exitReason, answer } = await journalOf({ settings: { maxMoney: 1, priceOf } })
      expect(exitReason).toBe('unpriced')
      expect(answer).toMatch(/the price of the model is not known/)
    }
  })
})

describe('announce', () => {
  const tailsOf = async (options: Partial<HarnessOptions>) => {
    const harness = createTestHarness(options)
    const { exitReason, turnId } = await harness.say('How is it in Rome?')
    const decisions = harness.model.requests.filter(({ role }) => role === 'decision')
    return { exitReason, turnId, tails: decisions.map(({ parts }) => JSON.stringify(parts.at(-1))) }
  }

  it('adds sections to every prompt, once per round', async () => {
    const rounds: unknown[] = []
    for (const wait of [false, true]) {
      rounds.length = 0
      const announce: HarnessOptions['announce'] = (round) => {
        rounds.push(round)
        const sections = [{ title: 'SHOP', text: `round ${round.iteration}` }]
        return wait ? Promise.resolve(sections) : sections
      }
      const { tails, turnId } = await tailsOf({ announce })
      expect(tails.map((tail) => /\[APPLICATION: SHOP\]\\n {2}round \d/.exec(tail)?.[0])).toEqual([
        '[APPLICATION: SHOP]\\n  round 0',
        '[APPLICATION: SHOP]\\n  round 1',
      ])
      expect(rounds).toEqual([0, 1].map((iteration) => ({ conversationId: 'c1', turnId, iteration })))
    }
  })

  it('that throws, never answers or returns no sections is reported and left out', async () => {
    const never = () => new Promise<never>(() => {})
    for (const announce of [breaks, async () => breaks(), never, () => [{ title: 1 }], () => 'text'] as HarnessOptions['announce'][]) {
      const problems: Problem[] = []
      const { tails, exitReason } = await tailsOf({ ...(announce && { announce }), onProblem: (problem) => problems.push(problem) })
      expect(exitReason).toBe('complete')
      expect(tails.join('')).not.toContain('APPLICATION')
      expect(problems.map(({ where }) => where)).toEqual(['announce', 'announce'])
    }
  })

  it('may return nothing', async () => {
    const problems: Problem[] = []
    const { tails } = await tailsOf({ announce: () => undefined, onProblem: (problem) => problems.push(problem) })
    expect([tails.join('').includes('APPLICATION'), problems]).toEqual([false, []])
  })
})
