import { mkdir, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Failure } from '../../../core/failure.ts'
import type { Files } from '../../../ports/files.ts'
import { filesFolder, listBelow, readIfSafe, type StoredFile } from '../files.ts'
import type { KeptFiles } from '../kept-files.ts'
import { gitBlobHash, type Lineage } from './lineage.ts'
import { outputRecords } from './run.ts'

/** A git index of a turn's checked-out files. With it git finds changed files without reading the others. */
export interface TurnIndex {
  /** The turn's folder on disk. */
  readonly turnRoot: string
  /** The index file. It is outside the folders of the agent's programs. */
  readonly file: string
}

interface TurnChanges {
  /** The hashes of the files that have not changed since the checkout, by path below `files/`. */
  readonly unchanged: ReadonlyMap<string, string>
  /**
   * The files that were changed, added or removed since the checkout. A path that ends with a slash is a nested repository, whose files git
   * does not list.
   */
  readonly changed: ReadonlySet<string>
}

/** Makes the index after a checkout. `stored` are the files that are in a version. git treats all other files as new. */
export async function fillIndex(lineage: Lineage, { turnRoot, file }: TurnIndex, stored: ReadonlyMap<string, StoredFile>): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  await rm(file, { force: true })
  if (stored.size === 0) return
  const input = [...stored].map(([rel, { hash }]) => `100644 ${hash} 0\tfiles/${rel}\0`).join('')
  await lineage.git(['update-index', '-z', '--index-info'], { input, index: file })
  await lineage.git(['update-index', '-q', '--refresh'], { index: file, workTree: turnRoot }).catch(ignoreStaleEntries)
}

/** Ignores git's error about files that changed since the checkout, because `readTurnChanges` finds them later. */
function ignoreStaleEntries(error: unknown): void {
  if (!(error instanceof Failure)) throw error
}

/** Compares the turn's folder with its index. Ignored files are left out. Changed paths may be links or pipes. */
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

/** The hashes of the turn's files, by path. Also the bytes that the repository may not have yet, by hash. */
export async function readTurnFiles(changes: TurnChanges, files: Files, turnId: string, kept: KeptFiles) {
  const hashes = new Map(changes.unchanged)
  const contents = new Map<string, Uint8Array>()
  const changed = await expandRepositories(changes.changed, files, turnId)
  const ignored = [...kept.made].filter((rel) => !hashes.has(rel)) // git lists no ignored files, but these were made on purpose
  for (const rel of new Set([...changed, ...ignored])) {
    const bytes = kept.has(rel) ? await readIfSafe(files, `${filesFolder(turnId)}/${rel}`) : undefined
    if (!bytes) continue
    const hash = gitBlobHash(bytes)
    hashes.set(rel, hash)
    contents.set(hash, bytes)
  }
  return { hashes, contents }
}

/** Replaces nested repositories by the files in them, which are published like other files, without `.git`. */
async function expandRepositories(changed: ReadonlySet<string>, files: Files, turnId: string): Promise<readonly string[]> {
  const plain = [...changed].filter((path) => !path.endsWith('/'))
  const nested = [...changed].filter((path) => path.endsWith('/')).map((path) => path.slice(0, -1))
  const listed = await Promise.all(
    nested.map(async (folder) => [...(await listBelow(files, `${filesFolder(turnId)}/${folder}`)).keys()].map((rel) => `${folder}/${rel}`)),
  )
  return [...plain, ...listed.flat()]
}
