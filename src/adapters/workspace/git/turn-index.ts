import { mkdir, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Failure } from '../../../core/failure.ts'
import type { Files, SkippedEntry } from '../../../ports/files.ts'
import { filesFolder, listBelow, readIfSafe } from '../files.ts'
import type { KeptFiles } from '../kept-files.ts'
import { isExcluded } from '../names.ts'
import type { CheckedOutFiles } from '../workspace.ts'
import { gitBlobHash, type Lineage } from './lineage.ts'
import { outputRecords } from './run.ts'

/** A git index of the files that a turn has checked out. With this index, git finds changed files without reading the unchanged files. */
export interface TurnIndex {
  /** The folder of the turn on disk. */
  readonly turnRoot: string
  /** The index file. It is outside of the folders that programs of the agent can write to. */
  readonly file: string
}

interface TurnChanges {
  /** The hashes of the files that have not changed since the checkout, by path below `files/`. */
  readonly unchanged: ReadonlyMap<string, string>
  /**
   * The files that were changed, added or removed since the checkout. A path that ends with a slash is a repository inside of `files/`,
   * whose files git does not list. The path is empty when `files/` itself is a repository.
   */
  readonly changed: ReadonlySet<string>
  /**
   * The files that git ignores, because of their names or a `.gitignore`. An ignored file is published only if a tool made it or the turn
   * checked it out.
   */
  readonly ignored: readonly string[]
}

/** Updates the index after a checkout. Files that are in no version are not in the index, and git treats them as new. */
export async function fillIndex(lineage: Lineage, { turnRoot, file }: TurnIndex, { mode, storedFiles }: CheckedOutFiles): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  await rm(`${file}.lock`, { force: true }) // a killed process may have left the lock file
  if (mode === 'replace') await rm(file, { force: true })
  if (storedFiles.size === 0) return
  const input = [...storedFiles].map(([rel, { hash }]) => `100644 ${hash} 0\tfiles/${rel}\0`).join('')
  await lineage.git(['update-index', '--replace', '-z', '--index-info'], { input, index: file })
  await lineage.git(['update-index', '-q', '--refresh'], { index: file, workTree: turnRoot }).catch(ignoreStaleEntries)
}

/** Ignores the error of git about files that have changed since the checkout. `readTurnChanges` will find these files. */
function ignoreStaleEntries(error: unknown): void {
  if (!(error instanceof Failure)) throw error
}

/**
 * Compares the folder of the turn with its index. A changed path may be a link. A file behind a link to a folder is treated as removed. The
 * lineage has no HEAD, so git prints every file of the index, with its hash.
 */
export async function readTurnChanges(lineage: Lineage, { turnRoot, file }: TurnIndex): Promise<TurnChanges> {
  const printed = await lineage.git(
    ['status', '--porcelain=v2', '-z', '--untracked-files=all', '--ignored', '--no-renames', '--ignore-submodules=all', '--', 'files'],
    { index: file, workTree: turnRoot },
  )
  const unchanged = new Map<string, string>()
  const changed = new Set<string>()
  const ignored: string[] = []
  for (const record of outputRecords(printed)) {
    const [, other, otherPath = '', state, hash = '', path = ''] = statusRecord.exec(record) ?? []
    if (other === '?') changed.add(otherPath)
    else if (other === '!')
      ignored.push(otherPath.replace(/\/$/, '')) // an ignored nested repository ends with a slash
    else if (state === '.') unchanged.set(path, hash)
    else if (state !== undefined) changed.add(path)
  }
  return { unchanged, changed, ignored }
}

/** A line of `git status`: `? <path>` or `! <path>`, or the state and hash of a file of the index, with fields that are not used. */
const statusRecord = /^(?:([?!]) files\/(.*)|1 .(.) \S+ \d+ \d+ \d+ [0-9a-f]+ ([0-9a-f]+) files\/(.*))$/s

/** Whether the turn has changed, added or removed a file that it will publish. */
export async function hasChanges(lineage: Lineage, { turnRoot, file }: TurnIndex): Promise<boolean> {
  const printed = await lineage.git(['ls-files', '-z', '-m', '-d', '-o', '--exclude-standard', '--', 'files'], {
    index: file,
    workTree: turnRoot,
  })
  return outputRecords(printed).some((path) => !isExcluded(path))
}

/**
 * Reads the files of a turn. `hashes` are the hashes of the files that the version will contain, by path. `contents` are the bytes that the
 * repository may not have yet, by hash. `excluded` are the paths of changed files that the version will not contain because of their names.
 * `refused` are files that can not be read.
 */
export async function readTurnFiles(changes: TurnChanges, files: Files, turnId: string, kept: KeptFiles) {
  const hashes = new Map(changes.unchanged)
  const contents = new Map<string, Uint8Array>()
  const refused: SkippedEntry[] = []
  const changed = await expandRepositories(changes.changed, files, turnId)
  const unlisted = [...kept.always].filter((rel) => !hashes.has(rel)) // a `.gitignore` may hide these files from git
  for (const rel of new Set([...changed.filter(kept.has), ...unlisted])) {
    const bytes = await readIfSafe(files, `${filesFolder(turnId)}/${rel}`, (reason) => refused.push({ path: rel, reason }))
    if (!bytes) continue
    const hash = gitBlobHash(bytes)
    hashes.set(rel, hash)
    contents.set(hash, bytes)
  }
  return { hashes, contents, excluded: changed.filter((rel) => !kept.has(rel)), refused }
}

/** Replaces each nested repository by the files in it, without its `.git`. These files are published like all others. */
async function expandRepositories(changed: ReadonlySet<string>, files: Files, turnId: string): Promise<readonly string[]> {
  const isNested = (path: string) => path === '' || path.endsWith('/')
  const listed = [...changed].filter(isNested).map(async (folder) => {
    const below = await listBelow(files, `${filesFolder(turnId)}/${folder}`.replace(/\/$/, ''))
    return [...below.keys()].map((rel) => `${folder}${rel}`)
  })
  return [...[...changed].filter((path) => !isNested(path)), ...(await Promise.all(listed)).flat()]
}
