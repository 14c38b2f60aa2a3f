import { mkdir, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Failure } from '../../../core/failure.ts'
import type { Files } from '../../../ports/files.ts'
import { filesFolder, listBelow, readIfSafe, type StoredFile } from '../files.ts'
import type { KeptFiles } from '../kept-files.ts'
import { gitBlobHash, type Lineage } from './lineage.ts'
import { outputRecords } from './run.ts'

/** A git index of the files that a turn has checked out. With it git finds changed files without reading the unchanged ones. */
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
   * The files that were changed, added or removed since the checkout. A path that ends with a slash is a repository inside of `files/`; git
   * does not list its files.
   */
  readonly changed: ReadonlySet<string>
}

/** Makes the index after a checkout. `stored` are the files that a version contains. For git, all other files are new. */
export async function fillIndex(lineage: Lineage, { turnRoot, file }: TurnIndex, stored: ReadonlyMap<string, StoredFile>): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  await rm(file, { force: true })
  if (stored.size === 0) return
  const input = [...stored].map(([rel, { hash }]) => `100644 ${hash} 0\tfiles/${rel}\0`).join('')
  await lineage.git(['update-index', '-z', '--index-info'], { input, index: file })
  await lineage.git(['update-index', '-q', '--refresh'], { index: file, workTree: turnRoot }).catch(ignoreStaleEntries)
}

/** Ignores the error of git about files that have changed since the checkout. `readTurnChanges` will find these files. */
function ignoreStaleEntries(error: unknown): void {
  if (!(error instanceof Failure)) throw error
}

/** Compares the folder of the turn with its index. Files that git ignores are left out. A changed path may be a link or a pipe. */
export async function readTurnChanges(lineage: Lineage, { turnRoot, file }: TurnIndex): Promise<TurnChanges> {
  const printed = await lineage.git(['ls-files', '-z', '-t', '-s', '-c', '-m', '-d', '-o', '--exclude-standard', '--', 'files'], {
    index: file,
    workTree: turnRoot,
  })
  const unchanged = new Map<string, string>()
  const changed = new Set<string>()
  for (const record of outputRecords(printed)) {
    const [, tag, hash, path] = /^(\S) (?:\d+ ([0-9a-f]+) \d\t)?files\/(.+)$/s.exec(record) ?? []
    if (path === undefined) continue
    if (tag === 'H' && hash !== undefined) unchanged.set(path, hash)
    else changed.add(path)
  }
  for (const path of changed) unchanged.delete(path)
  return { unchanged, changed }
}

/** The hashes of the turn's files by path, and the contents that the repository may not have yet by hash. */
export async function readTurnFiles(changes: TurnChanges, files: Files, turnId: string, kept: KeptFiles) {
  const hashes = new Map(changes.unchanged)
  const contents = new Map<string, Uint8Array>()
  const changed = await expandRepositories(changes.changed, files, turnId)
  const ignored = [...kept.made].filter((rel) => !hashes.has(rel)) // files that tools made are published even if git ignores them
  for (const rel of new Set([...changed, ...ignored])) {
    const bytes = kept.has(rel) ? await readIfSafe(files, `${filesFolder(turnId)}/${rel}`) : undefined
    if (!bytes) continue
    const hash = gitBlobHash(bytes)
    hashes.set(rel, hash)
    contents.set(hash, bytes)
  }
  return { hashes, contents }
}

/** Replaces each nested repository by the files in it, without its `.git`. These files are published like all others. */
async function expandRepositories(changed: ReadonlySet<string>, files: Files, turnId: string): Promise<readonly string[]> {
  const plain = [...changed].filter((path) => !path.endsWith('/'))
  const nested = [...changed].filter((path) => path.endsWith('/')).map((path) => path.slice(0, -1))
  const listed = await Promise.all(
    nested.map(async (folder) => [...(await listBelow(files, `${filesFolder(turnId)}/${folder}`)).keys()].map((rel) => `${folder}/${rel}`)),
  )
  return [...plain, ...listed.flat()]
}
