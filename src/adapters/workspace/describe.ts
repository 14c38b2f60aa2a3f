import type { AnnouncedWorkspace as WorkspaceFacts, WorkspaceScope } from '../../core/announce/announce.ts'
import { isTurnFolder } from '../../core/path/safety.ts'
import type { FileInfo } from '../../ports/files.ts'
import type { Workspaces } from '../../ports/workspace.ts'
import { readCheckoutRecord } from './checkout.ts'
import { filesFolder, listBelow } from './files.ts'
import { excludedPart, isExcluded, scopeOf } from './names.ts'
import type { WorkspaceFolders } from './workspace.ts'

/** How many files are listed for the description. If there are more, some earlier turns may be missing from the description. */
const MAX_COUNTED_FILES = 20_000

/** The facts about a workspace that a turn's announcement shows: turn folders, editable scopes, checked-out sources. */
export async function describeTurn(
  { files, runtime }: WorkspaceFolders,
  implementation: Workspaces['implementation'],
  turnId: string,
): Promise<WorkspaceFacts> {
  const listed = await files.list('', { limit: MAX_COUNTED_FILES, dotEntries: true })
  const rels = listed.truncated ? [...(await listBelow(files, filesFolder(turnId))).keys()] : pathsBelow(filesFolder(turnId), listed.files)
  const roots = turnRoots(listed.files)
  const record = await readCheckoutRecord(runtime, turnId)
  const from = record?.from.map(({ turnId: turn, rel }) => `fi:${turn}.files${rel === '' ? '' : `/${rel}`}`)
  return {
    implementation,
    currentTurnRoot: `${turnId}/`,
    turnRoots: [...roots.filter((root) => root !== turnId), turnId].map((root) => `${root}/`),
    editable: countScopes(rels.filter((rel) => !isExcluded(rel))),
    ...(from && from.length > 0 && { checkedOutFrom: from.join(', ') }),
    ...(record && { checkoutMode: record.mode }),
  }
}

const pathsBelow = (folder: string, listed: readonly FileInfo[]) =>
  listed.filter(({ path }) => path.startsWith(`${folder}/`)).map(({ path }) => path.slice(folder.length + 1))

/** The folders of turns, oldest first. They are sorted by name, because turn ids begin with their time. */
function turnRoots(listed: readonly FileInfo[]): readonly string[] {
  return [...new Set(listed.map(({ path }) => scopeOf(path)))].filter((root) => isTurnFolder(root)).sort()
}

const MAX_LEFT_OUT = 12

/** The folders and files of the turn that no version has because of their names, such as `app/node_modules`. */
export async function countLeftOut(files: WorkspaceFolders['files'], turnId: string): Promise<readonly WorkspaceScope[]> {
  const listed = await files.list(filesFolder(turnId), { limit: MAX_COUNTED_FILES, dotEntries: true })
  const counts = new Map<string, number>()
  for (const rel of pathsBelow(filesFolder(turnId), listed.files)) {
    const name = excludedPart(rel)
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
