import { type Block, readWorkspaceCheckout } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { isObject, parseJson } from '../../core/json.ts'
import { parsePath } from '../../core/path/logical.ts'
import { toPhysical } from '../../core/path/physical.ts'
import type { Files } from '../../ports/files.ts'
import type { CheckoutSource, RecordedFiles, Workspace } from '../../ports/workspace.ts'
import { recordedPathsOf } from '../../tools/artifacts/history.ts'

/**
 * The file that says which process last worked on the files of a turn on this machine. `epoch` counts the claims of the conversation, so a
 * gap means that a process on another machine has continued the turn meanwhile.
 */
const markPath = (turnId: string) => `turns/${turnId}.json`

async function readMark(runtime: Files, turnId: string): Promise<number | undefined> {
  const bytes = await runtime.read(markPath(turnId))
  const mark = parseJson(bytes && new TextDecoder().decode(bytes))
  return isObject(mark) && typeof mark.epoch === 'number' ? mark.epoch : undefined
}

/** Notes that the process with this claim works on the files of the turn. */
export const writeMark = (runtime: Files, turnId: string, epoch: number): Promise<void> =>
  runtime.write(markPath(turnId), Buffer.from(JSON.stringify({ epoch })))

/**
 * Notes that the turn is resumed on the machine that has its files. Without this, a process that dies before it uses them would leave a gap.
 * Returns whether this machine has worked on the files of the turn.
 */
export async function renewMark(runtime: Files, turnId: string, epoch: number): Promise<boolean> {
  const mark = await readMark(runtime, turnId)
  if (mark === epoch - 1) await writeMark(runtime, turnId, epoch)
  return mark !== undefined
}

/**
 * Removes the files of earlier turns that a process left here when it died, and that another machine has closed. They are not what these
 * turns left. The folder of a turn that could not be published stays, because it may be the only copy.
 */
export async function removeAbandoned({ runtime, files }: Workspace, current: string, history: RecordedFiles): Promise<void> {
  for (const { path } of (await runtime.list('turns')).files) {
    const turnId = path.slice('turns/'.length, -'.json'.length)
    if (turnId === current) continue
    const record = await history.manifest(turnId)
    if (!isObject(record) || record.status !== 'failed') await files.replaceFolder(`${turnId}/files`, new Map())
    await removeMark(runtime, turnId)
  }
}

/** Removes the mark of a turn that is closed. */
export async function removeMark(runtime: Files, turnId: string): Promise<void> {
  await runtime.remove(markPath(turnId))
}

/**
 * Whether the folder of a resumed turn is as the turn left it. It is not if the turn began or was continued on another machine. A turn that
 * an older version has begun has no mark. Then any file in the folder counts as a yes.
 */
export async function isFolderCurrent({ runtime, files }: Workspace, turnId: string, epoch: number): Promise<boolean> {
  const mark = await readMark(runtime, turnId)
  if (mark !== undefined) return mark >= epoch - 1
  const listings = await Promise.all(['files', 'outputs'].map((area) => files.list(`${turnId}/${area}`, { limit: 1, dotEntries: true })))
  return listings.some((listing) => listing.files.length > 0)
}

/**
 * Restores the files of a turn from the journal: repeats its checkouts and writes what tools have written, in the order of the blocks. What
 * programs did is not in the journal, unless a tool has read or delivered it.
 */
export async function restoreWorkspace(
  workspace: Workspace,
  turnId: string,
  blocks: readonly Block[],
  history: RecordedFiles,
): Promise<void> {
  const { files } = workspace
  await files.replaceFolder(`${turnId}/files`, new Map())
  let known: readonly string[] = []
  for (const block of blocks) {
    const checkout = readWorkspaceCheckout(block)
    if (checkout) {
      const own = checkout.checked_out ?? newPaths(checkout, known)
      known = checkout.checked_out_from
      await repeatCheckout(workspace, turnId, checkout.mode === 'overlay' ? 'overlay' : 'replace', own, history)
    }
    for (const logical of recordedPathsOf(block, turnId)) {
      const path = parsePath(logical)
      const physical = path?.space === 'fi' && path.kind === 'file' && path.area !== 'attachments' ? toPhysical(logical) : undefined
      const bytes = physical === undefined ? undefined : await history.bytes(logical)
      if (physical !== undefined && bytes) await files.write(physical, bytes)
    }
  }
}

/** The paths that a checkout has added to those of the checkouts before. Older blocks list only all of them together. */
function newPaths({ mode, checked_out_from }: { mode: string; checked_out_from: readonly string[] }, known: readonly string[]) {
  return mode === 'overlay' ? checked_out_from.filter((path) => !known.includes(path)) : checked_out_from
}

async function repeatCheckout(
  workspace: Workspace,
  turnId: string,
  mode: 'replace' | 'overlay',
  paths: readonly string[],
  history: RecordedFiles,
): Promise<void> {
  const sources = paths.flatMap((logical): readonly CheckoutSource[] => {
    const path = parsePath(logical)
    return path?.space === 'fi' && path.kind !== 'code' ? [{ turnId: path.turn, rel: path.rel }] : []
  })
  if (sources.length === 0) return
  const outcome = await workspace.checkout(turnId, { mode, sources, force: true }, history)
  if (!outcome.ok) throw new Failure('workspace.failed', `what this turn had checked out is not here: ${outcome.problems[0]?.message}`)
}
