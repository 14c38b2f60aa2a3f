import type { WorkspaceScope } from '../../core/announce/workspace-section.ts'
import { isTurnFolder } from '../../core/path/safety.ts'
import type { Files } from '../../ports/files.ts'
import { filesFolder, listBelow } from './files.ts'
import { isExcluded, scopeOf } from './names.ts'

/**
 * A cache of what is in the folders of the turns. Each write of this process updates it, so that a round need not list the folders. After a
 * program has run, the cache is outdated, because programs also write files.
 */
export interface FolderView {
  /** The files of the conversation. Writes through this object update the view. */
  readonly files: Files
  /** Makes a turn the running turn. */
  startTurn(turnId: string): void
  /**
   * The scopes of a turn, sorted. Files with excluded names, such as `node_modules`, are not counted. The folder of the running turn is
   * listed only at the first call and after `forget`.
   */
  scopes(turnId: string): Promise<readonly WorkspaceScope[]>
  /** The folders of turns, oldest first. They are listed only at the first call. */
  roots(): Promise<readonly string[]>
  /** Removes all files in the folder of a turn. */
  removeTurn(turnId: string): Promise<void>
  /**
   * Call it after a program has run, because the program may have changed the folder of the running turn. The next `scopes` lists the
   * folder.
   */
  forget(): void
  /**
   * A number that grows when `forget` is called and when a folder of the running turn is replaced. As long as it stays the same, files of
   * the running turn were changed only by single calls of `files.write` and `files.remove`.
   */
  readonly generation: number
  /** How many files of the running turn were written or removed one by one. Excluded names are not counted. */
  readonly writes: number
}

/** The maximum number of files that are listed to find the folders of turns. If there are more, some earlier turns may not be found. */
const MAX_LISTED_FILES = 20_000

export function createFolderView(files: Files): FolderView {
  let turnId: string | undefined
  let counts: ScopeCounts | undefined
  let roots: Set<string> | undefined
  let [generation, writes] = [0, 0]

  /** The part of a path after `<running turn>/files/`. Undefined for paths in other folders and for excluded names. */
  function relOf(path: string): string | undefined {
    const prefix = turnId === undefined ? undefined : `${filesFolder(turnId)}/`
    if (prefix === undefined || !path.startsWith(prefix)) return undefined
    const rel = path.slice(prefix.length)
    return isExcluded(rel) ? undefined : rel
  }

  function forget(): void {
    counts = undefined
    generation++
  }

  return {
    files: {
      ...files,
      async write(path, bytes, options) {
        await files.write(path, bytes, options)
        roots?.add(scopeOf(path))
        const rel = relOf(path)
        if (rel === undefined) return
        counts?.add(rel)
        writes++
      },
      async remove(path) {
        const removed = await files.remove(path)
        const rel = removed ? relOf(path) : undefined
        if (rel === undefined) return removed
        counts?.remove(rel)
        writes++
        return removed
      },
      async replaceFolder(folder, contents, options) {
        await files.replaceFolder(folder, contents, options)
        roots?.add(scopeOf(folder))
        if (turnId === undefined || scopeOf(folder) !== turnId) return
        forget()
        if (folder === filesFolder(turnId)) counts = countFiles(contents.keys())
      },
    },
    startTurn(started) {
      if (started !== turnId) forget()
      turnId = started
    },
    async scopes(wanted) {
      if (counts && wanted === turnId) return counts.scopes()
      const before = generation + writes
      const listed = countFiles((await listBelow(files, filesFolder(wanted))).keys())
      // if a file was written meanwhile, `listed` is outdated, and the next call lists again
      if (wanted === turnId && generation + writes === before) counts = listed
      return listed.scopes()
    },
    async roots() {
      roots ??= new Set((await files.list('', { limit: MAX_LISTED_FILES, dotEntries: true })).files.map(({ path }) => scopeOf(path)))
      return [...roots].filter((root) => isTurnFolder(root)).sort()
    },
    async removeTurn(removed) {
      await files.replaceFolder(removed, new Map())
      roots?.delete(removed)
      if (removed === turnId) forget()
    },
    forget,
    get generation() {
      return generation
    },
    get writes() {
      return writes
    },
  }
}

/** Counts the files of a turn by scope. */
interface ScopeCounts {
  add(rel: string): void
  remove(rel: string): void
  scopes(): readonly WorkspaceScope[]
}

function countFiles(rels: Iterable<string>): ScopeCounts {
  const known = new Set<string>()
  const counts = new Map<string, number>()
  let sorted: readonly WorkspaceScope[] | undefined

  function change(rel: string, by: 1 | -1): void {
    const scope = scopeOf(rel)
    const count = (counts.get(scope) ?? 0) + by
    if (count === 0) counts.delete(scope)
    else counts.set(scope, count)
    sorted = undefined
  }

  const result: ScopeCounts = {
    add(rel) {
      if (known.has(rel)) return
      known.add(rel)
      change(rel, 1)
    },
    remove(rel) {
      if (known.delete(rel)) change(rel, -1)
    },
    scopes() {
      sorted ??= [...counts].map(([name, files]) => ({ name, files })).sort((a, b) => (a.name < b.name ? -1 : 1))
      return sorted
    },
  }
  for (const rel of rels) if (!isExcluded(rel)) result.add(rel)
  return result
}
