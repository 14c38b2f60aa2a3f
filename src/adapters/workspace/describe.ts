import type { AnnouncedWorkspace as WorkspaceFacts, WorkspaceScope } from '../../core/announce/workspace-section.ts'
import type { Workspaces } from '../../ports/workspace.ts'
import { readCheckoutRecord } from './checkout.ts'
import type { FolderView } from './folder-view.ts'
import { scopeOf } from './names.ts'
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

/** The scopes of these files, each with the number of its files. */
export function countScopes(rels: readonly string[]): readonly WorkspaceScope[] {
  const counts = new Map<string, number>()
  for (const rel of rels) counts.set(scopeOf(rel), (counts.get(scopeOf(rel)) ?? 0) + 1)
  return [...counts].map(([name, files]) => ({ name, files })).sort((a, b) => (a.name < b.name ? -1 : 1))
}
