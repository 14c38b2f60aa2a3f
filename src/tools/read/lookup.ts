import type { Block } from '../../core/block/index.ts'
import { type Resolution, resolvePath } from '../../core/timeline/resolve.ts'
import type { Call } from '../tool.ts'

/** What an address leads to, in the timeline or in all history; the journal is asked only for what the timeline does not hold. */
export async function resolveInHistory(
  path: string,
  call: Pick<Call, 'timeline' | 'records'>,
): Promise<Exclude<Resolution, { status: 'look' }>> {
  const paths = new Map<string, readonly Block[]>()
  const turns = new Map<string, readonly Block[]>()
  const history = { atPath: (at: string) => paths.get(at), ofTurn: (turnId: string) => turns.get(turnId) }
  for (;;) {
    const resolved = resolvePath(call.timeline, path, history)
    if (resolved.status !== 'look') return resolved
    if ('path' in resolved.at) paths.set(resolved.at.path, await call.records.byPath(resolved.at.path))
    else turns.set(resolved.at.turn, await blocksOfTurn(resolved.at.turn, call))
  }
}

async function blocksOfTurn(turnId: string, { records }: Pick<Call, 'records'>): Promise<readonly Block[]> {
  return (await records.turnLog(turnId))?.blocks ?? (await records.byTurn(turnId))
}
