import { isObject } from '../../core/json.ts'
import { RequestProblem } from '../problem.ts'

/**
 * How much a bundle may contain that is imported over HTTP. The time that an import takes depends on these numbers more than on the size of
 * the body. The block count includes the timeline, the turn logs and the archive. A bundle that the command line imports into its own data
 * folder has no such limits.
 */
export const importLimits = { blocks: 20_000, turns: 10_000, sources: 10_000 } as const

/** Rejects a bundle that is too large, before it is parsed. Values of the wrong type count nothing, because the parser rejects them. */
export function checkImportSize(bundle: unknown): void {
  const { timeline, sources_pool: pool, turn_logs: logs, archive, blocks } = fieldsOf(bundle)
  const turns = Array.isArray(logs) ? logs : []
  const inTurns = turns.reduce((sum: number, log) => sum + lengthOf(fieldsOf(log).blocks), 0)
  const { blocks: visible, sources_pool: snapshot } = fieldsOf(timeline)
  checkCount('blocks', lengthOf(blocks) + lengthOf(visible) + lengthOf(archive) + inTurns)
  checkCount('turns', turns.length)
  for (const rows of [pool, snapshot, fieldsOf(pool).sources_pool]) checkCount('sources', lengthOf(rows))
}

const fieldsOf = (value: unknown): { readonly [field: string]: unknown } => (isObject(value) ? value : {})
const lengthOf = (value: unknown): number => (Array.isArray(value) ? value.length : 0)

function checkCount(what: keyof typeof importLimits, count: number): void {
  if (count <= importLimits[what]) return
  throw new RequestProblem(413, 'request.too_large', `The bundle is too large: it has more than ${importLimits[what]} ${what}.`)
}
