import { type Block, readWorkspaceCheckout } from '../core/block/index.ts'
import { parsePath } from '../core/path/logical.ts'
import { toPhysical } from '../core/path/physical.ts'
import { blocksOfTurn, type Timeline } from '../core/timeline/timeline.ts'
import type { CheckoutSource, RecordedFiles, Workspace } from '../ports/workspace.ts'

/**
 * The files of a turn that another machine began, as far as its journal knows them: what it checked out, and over it what its tools
 * wrote. Where the turn has files already nothing is touched: then this is the machine, and they are newer than the journal.
 */
export async function restoreWorkspace(workspace: Workspace, turnId: string, timeline: Timeline, history: RecordedFiles): Promise<void> {
  const { files } = workspace
  const here = await Promise.all(['files', 'outputs'].map((area) => files.list(`${turnId}/${area}`, { limit: 1, dotEntries: true })))
  if (here.some((listing) => listing.files.length > 0)) return
  const sources = checkoutSources(blocksOfTurn(timeline, turnId))
  if (sources.length > 0) await workspace.checkout(turnId, { mode: 'replace', sources }, history)
  for (const logical of await history.paths(turnId)) {
    const path = parsePath(logical)
    const physical = path?.space === 'fi' && path.kind === 'file' && path.area !== 'attachments' ? toPhysical(logical) : undefined
    const bytes = physical === undefined ? undefined : await history.bytes(logical)
    if (physical !== undefined && bytes) await files.write(physical, bytes)
  }
}

/** By the newest block: it names everything that was checked out so far. */
function checkoutSources(blocks: readonly Block[]): readonly CheckoutSource[] {
  const said = blocks.flatMap((block) => readWorkspaceCheckout(block) ?? []).at(-1)
  return (said?.checked_out_from ?? []).flatMap((logical) => {
    const path = parsePath(logical)
    return path?.space === 'fi' && path.kind !== 'code' ? [{ turnId: path.turn, rel: path.rel }] : []
  })
}
