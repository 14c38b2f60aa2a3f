import { parseArgs } from 'node:util'
import { growthOfArchive } from './growth/archive.ts'
import { type Growth, measureGrowth } from './growth/measure.ts'
import { growthOfStores } from './growth/stores.ts'
import { growthOfTurns } from './growth/turns.ts'

/**
 * Measures the cost of one unit, such as a round, in workloads of three sizes: the smallest, one ten times as large, and one a hundred
 * times as large. If the whole work takes linear time, the cost of a unit is the same at each size. `npm run bench -- growth --only
 * sources,hides` measures only the lines with one of these words.
 */
export async function bench(options: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...options], options: { only: { type: 'string' } } })
  const words = values.only?.split(',')
  const isWanted = ({ what }: Growth) => !words || words.some((word) => what.includes(word))
  for (const growth of [...growthOfTurns, ...growthOfStores, ...growthOfArchive].filter(isWanted)) await measureGrowth(growth)
}
