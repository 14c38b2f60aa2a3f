import { mkdir, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Failure } from '../../../core/failure.ts'
import type { Files } from '../../../ports/files.ts'
import type { StoredFile } from '../files.ts'
import { filesFolder, listBelow, readIfSafe } from '../files.ts'
import { isExcluded } from '../names.ts'
import { gitBlobHash, type Lineage } from './lineage.ts'
import { outputRecords } from './run.ts'

/** One turn's folder as git sees it, through an index of our own: with it git tells what changed without reading what did not. */
export interface TurnIndex {
  /** Where the turn's root is on disk. */
  readonly turnRoot: string
  /** A file outside the folder, out of reach. */
  readonly file: string
}

export interface TurnChanges {
  /** As a checkout put them, by path below `files/`. */
  readonly unchanged: ReadonlyMap<string, string>
  /** Not so, any more or ever: changed, new, or gone. A name that ends in a slash is a repository inside, of which git says no more. */
  readonly changed: ReadonlySet<string>
}

/** After a checkout: what lies there as a version has it. The rest is new to git, and will be read. */
export async function fillIndex(lineage: Lineage, { turnRoot, file }: TurnIndex, kept: ReadonlyMap<string, StoredFile>): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  await rm(file, { force: true })
  if (kept.size === 0) return
  const input = [...kept].map(([rel, { hash }]) => `100644 ${hash} 0\tfiles/${rel}\0`).join('')
  await lineage.git(['update-index', '-z', '--index-info'], { input, index: file })
  await lineage.git(['update-index', '-q', '--refresh'], { index: file, workTree: turnRoot }).catch(ignoreStaleEntries)
}

/** Something changed between the checkout and now: that is for `readState` to find. */
function ignoreStaleEntries(error: unknown): void {
  if (!(error instanceof Failure)) throw error
}

/** Everything but what is ignored. Links and pipes may be among the changed: they are not read here. */
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

/** What the turn has below `files/`, by hash, and the bytes of what git may not have yet. */
export async function readTurnFiles(state: TurnChanges, files: Files, turnId: string) {
  const made = new Map(state.unchanged)
  const fresh = new Map<string, Uint8Array>()
  for (const rel of await expandRepositories(state.changed, files, turnId)) {
    const bytes = isExcluded(rel) ? undefined : await readIfSafe(files, `${filesFolder(turnId)}/${rel}`)
    if (!bytes) continue
    const hash = gitBlobHash(bytes)
    made.set(rel, hash)
    fresh.set(hash, bytes)
  }
  return { made, fresh }
}

/** A repository that the agent made inside is a folder like any other, without its `.git`. */
async function expandRepositories(changed: ReadonlySet<string>, files: Files, turnId: string): Promise<readonly string[]> {
  const plain = [...changed].filter((path) => !path.endsWith('/'))
  const inside = [...changed].filter((path) => path.endsWith('/')).map((path) => path.slice(0, -1))
  const listed = await Promise.all(
    inside.map(async (folder) => [...(await listBelow(files, `${filesFolder(turnId)}/${folder}`)).keys()].map((rel) => `${folder}/${rel}`)),
  )
  return [...plain, ...listed.flat()]
}
