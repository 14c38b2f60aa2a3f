import { type CostScript, costsOf, type ScriptedCall, scriptedCalls } from '../test/support/prompts/cost-script.ts'
import { dialectCalls } from '../test/support/prompts/dialect-costs.ts'

const usual: CostScript = {
  turns: 20,
  roundsPerTurn: 6,
  resultCharacters: 2_000,
  announceTokens: 700,
  callsPerRound: 1,
  resultsPerCall: 1,
  foldEvery: 0,
}

const scripts: Readonly<Record<string, CostScript>> = {
  'plain, 2 KB results': { ...usual, announceTokens: 0 },
  'plain, 12 calls in a response': { ...usual, announceTokens: 0, callsPerRound: 12 },
  'fresh status, 2 KB results': usual,
  'fresh status, 20 KB results': { ...usual, resultCharacters: 20_000 },
  '12 results in a round': { ...usual, resultCharacters: 20_000, resultsPerCall: 12 },
  '12 calls in a response': { ...usual, resultCharacters: 20_000, callsPerRound: 12 },
  'every third round a hide': { ...usual, foldEvery: 3 },
}

const budget = 1.02

/**
 * Compares the cost of the prompts of 20 turns with the lowest possible cost. It counts tokens, so that the numbers are the same on every
 * machine. The first printed lines are for scripted timelines. The last two printed lines are for the prompts of a whole agent, one line
 * for each dialect.
 */
export async function bench(): Promise<void> {
  for (const [name, script] of Object.entries(scripts)) reportCosts(name, scriptedCalls(script))
  for (const dialect of ['channels', 'native'] as const)
    reportCosts(`whole agent, ${dialect}`, await dialectCalls(dialect, { turns: 20, rounds: 6 }))
}

function reportCosts(name: string, calls: readonly ScriptedCall[]): void {
  const { ideal, ours, automatic, tailOnly, lastPart, uncached } = costsOf(calls)
  const ratio = (cost: number) => (cost / ideal.cost).toFixed(2).padStart(6)
  const verdict = ours.cost <= budget * ideal.cost ? 'ok' : 'OVER'
  console.log(`  ${name.padEnd(30)} ${(ours.cost / ideal.cost).toFixed(4)} × ideal  (budget ${budget})  ${verdict}`)
  console.log(
    `  ${''.padEnd(30)} for comparison: only the tail mark ${ratio(tailOnly.cost)}, one mark on the last part ${ratio(lastPart.cost)}, ` +
      `no cache ${ratio(uncached.cost)}; automatic prefix cache ${ratio(automatic.cost)} (writes free)`,
  )
}
