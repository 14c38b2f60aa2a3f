import { type Block, readWorkspaceCheckout } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { isObject, parseJson } from '../../core/json.ts'
import { parsePath } from '../../core/path/logical.ts'
import { toPhysical } from '../../core/path/physical.ts'
import type { Files } from '../../ports/files.ts'
import type { CheckoutSource, RecordedFiles, Workspace } from '../../ports/workspace.ts'
import { recordedPathsOf } from '../../tools/artifacts/history.ts'

/**
 * The path of the epoch file of a turn. The file has the epoch of the last claim under which a process on this machine used the files of
 * the turn. Each new claim of the conversation has the next epoch. If the file has neither the epoch of the current claim nor the epoch
 * before it, a process on another machine may have continued the turn in the meantime.
 */
const epochFilePath = (turnId: string) => `turns/${turnId}.json`

async function readEpochFile(runtime: Files, turnId: string): Promise<number | undefined> {
  const bytes = await runtime.read(epochFilePath(turnId))
  const content = parseJson(bytes && new TextDecoder().decode(bytes))
  return isObject(content) && typeof content.epoch === 'number' ? content.epoch : undefined
}

/** Writes the epoch file, which says that the process with this epoch uses the files of the turn. */
export const writeEpochFile = (runtime: Files, turnId: string, epoch: number): Promise<void> =>
  runtime.write(epochFilePath(turnId), Buffer.from(JSON.stringify({ epoch })))

/**
 * Called when a turn is resumed. If the process with the previous claim used the files on this machine, the function writes the new epoch
 * into the epoch file. Without this, the epoch in the file would be too old if this process dies before it uses the files, and the next
 * process would restore the files from the journal although they are current. Returns whether the turn has an epoch file on this machine.
 */
export async function renewEpochFile(runtime: Files, turnId: string, epoch: number): Promise<boolean> {
  const last = await readEpochFile(runtime, turnId)
  if (last === epoch - 1) await writeEpochFile(runtime, turnId, epoch)
  return last !== undefined
}

/**
 * Removes the folder of every other turn that still has an epoch file. A process on this machine died during that turn, and a process on
 * another machine then closed it. Therefore the files on this machine may be out of date. If the publish of that turn failed, the folder is
 * kept, because it may have the only copy of the files.
 */
export async function removeAbandoned(workspace: Workspace, current: string, history: RecordedFiles): Promise<void> {
  const { runtime } = workspace
  for (const { path } of (await runtime.list('turns')).files) {
    const turnId = path.slice('turns/'.length, -'.json'.length)
    if (turnId === current) continue
    const record = await history.manifest(turnId)
    if (!isObject(record) || record.status !== 'failed') await workspace.removeTurn(turnId)
    await removeEpochFile(runtime, turnId)
  }
}

/** Removes the epoch file of a turn that is closed. */
export async function removeEpochFile(runtime: Files, turnId: string): Promise<void> {
  await runtime.remove(epochFilePath(turnId))
}

/**
 * Whether the folder of a resumed turn has the latest files of the turn. False if the turn was begun or continued on another machine. Older
 * versions of Daybook wrote no epoch files. If there is no epoch file, the result is true if the folder has any file.
 */
export async function isFolderCurrent({ runtime, files }: Workspace, turnId: string, epoch: number): Promise<boolean> {
  const last = await readEpochFile(runtime, turnId)
  if (last !== undefined) return last >= epoch - 1
  const listings = await Promise.all(['files', 'outputs'].map((area) => files.list(`${turnId}/${area}`, { limit: 1, dotEntries: true })))
  return listings.some((listing) => listing.files.length > 0)
}

/**
 * Restores the files of a turn from the journal, in the order of the blocks: it repeats the checkouts, and writes the files that tools have
 * recorded. A file that a program wrote is restored only if a tool has read or delivered it. The journal does not have the content of other
 * files.
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

/**
 * The paths that this checkout itself copied. Blocks of older versions of Daybook list only the paths of all checkouts so far. `known` has
 * the paths of the checkouts before this one.
 */
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
  if (!outcome.ok)
    throw new Failure('workspace.failed', `the files that this turn had checked out can not be restored: ${outcome.problems[0]?.message}`)
}
