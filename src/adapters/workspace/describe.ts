import type { AnnouncedWorkspace as WorkspaceFacts, WorkspaceScope } from '../../core/announce/announce.ts'
import type { RecordedFiles, Workspaces } from '../../ports/workspace.ts'
import { readCheckoutRecord } from './checkout.ts'
import { filesFolder } from './files.ts'
import type { FolderView } from './folder-view.ts'
import { findKeptFiles } from './kept-files.ts'
import { excludedPart, isExcluded, scopeOf } from './names.ts'
import type { WorkspaceFolders } from './workspace.ts'

/** Makes the function that describes turns. It reads the checkout record again only if `view` says that the folder may have changed. */
export function createTurnDescriber({ runtime }: WorkspaceFolders, view: FolderView, implementation: Workspaces['implementation']) {
  let known: { readonly turnId: string; readonly generation: number; readonly facts: CheckoutFacts } | undefined

  async function checkoutFacts(turnId: string): Promise<CheckoutFacts> {
    const { generation } = view
    if (known?.turnId === turnId && known.generation === generation) return known.facts
    const record = await readCheckoutRecord(runtime, turnId)
    const from = record?.from.map(({ turnId: turn, rel }) => `fi:${turn}.files${rel === '' ? '' : `/${rel}`}`)
    const facts = { ...(from && from.length > 0 && { checkedOutFrom: from.join(', ') }), ...(record && { checkoutMode: record.mode }) }
    known = { turnId, generation, facts }
    return facts
  }

  /** Describes the workspace for the announce of a turn: folders of turns, scopes that can be edited, checked-out sources. */
  return async (turnId: string): Promise<WorkspaceFacts> => ({
    implementation,
    currentTurnRoot: `${turnId}/`,
    turnRoots: [...(await view.roots()).filter((root) => root !== turnId), turnId].map((root) => `${root}/`),
    editable: await view.scopes(turnId),
    ...(await checkoutFacts(turnId)),
  })
}

type CheckoutFacts = Pick<WorkspaceFacts, 'checkedOutFrom' | 'checkoutMode'>

/** The maximum number of files that are listed to find those that a version leaves out. */
const MAX_COUNTED_FILES = 20_000
const MAX_LEFT_OUT = 12

/** The folders and files of the turn that its version will not contain because of their names, such as `app/node_modules`. */
export async function countLeftOut(
  { files, runtime }: WorkspaceFolders,
  turnId: string,
  history: RecordedFiles,
): Promise<readonly WorkspaceScope[]> {
  const listed = await files.list(filesFolder(turnId), { limit: MAX_COUNTED_FILES, dotEntries: true })
  const excluded = listed.files.map(({ path }) => path.slice(filesFolder(turnId).length + 1)).filter(isExcluded)
  if (excluded.length === 0) return []
  const kept = await findKeptFiles(turnId, history, await readCheckoutRecord(runtime, turnId))
  const counts = new Map<string, number>()
  for (const rel of excluded) {
    const name = kept.has(rel) ? undefined : excludedPart(rel)
    if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return [...counts].slice(0, MAX_LEFT_OUT).map(([name, count]) => ({ name, files: count }))
}

/** The scopes of these files, each with the number of its files. */
export function countScopes(rels: readonly string[]): readonly WorkspaceScope[] {
  const counts = new Map<string, number>()
  for (const rel of rels) counts.set(scopeOf(rel), (counts.get(scopeOf(rel)) ?? 0) + 1)
  return [...counts].map(([name, files]) => ({ name, files })).sort((a, b) => (a.name < b.name ? -1 : 1))
}
