import { isObject } from '../../core/json.ts'
import { RequestProblem } from '../problem.ts'

/**
 * The limits of a bundle that is imported over HTTP. The time of an import depends more on these counts than on the size of the body.
 * `blocks` counts the blocks of the timeline, the turn logs and the archive together. When the command line imports a bundle into a local
 * data folder, these limits do not apply.
 */
export const importLimits = { blocks: 20_000, turns: 10_000, sources: 10_000 } as const

/**
 * Rejects a bundle that has too many blocks, turns or sources. It runs before the fields of the bundle are validated. A field of the wrong
 * type is treated as empty here, because the validation rejects it later.
 */
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
