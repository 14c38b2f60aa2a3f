import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Failure } from '../../../core/failure.ts'
import { unsafeReason } from '../../../core/path/safety.ts'
import type { Scope } from '../../../core/scope.ts'
import type { StoredFile, Version } from '../files.ts'
import { conversationFolder, encodeName, excludedNames } from '../names.ts'
import { createGit, type Git, outputRecords, outputText } from './run.ts'

/** The git refs of a conversation. */
interface LineageRefs {
  readonly branch: string
  version(turnId: string): string
  /** The beginning of the names of all refs of versions. */
  readonly versions: string
}

export function lineageRefs(owner: Scope, conversationId: string): LineageRefs {
  const name = conversationFolder(owner, conversationId)
  const versions = `refs/daybook/${name}/versions/`
  return { branch: `refs/heads/daybook/${name}`, versions, version: (turnId) => `${versions}${encodeName(turnId)}` }
}

/**
 * A bare repository with the branch and the versions of one conversation. It is outside of the folders that programs of the agent can write
 * to.
 */
export interface Lineage {
  readonly folder: string
  readonly refs: LineageRefs
  readonly git: Git
  /** Creates the repository when it does not exist. */
  prepare(): Promise<void>
  /** The commit of a ref. Undefined when the ref does not exist. */
  commitOf(ref: string): Promise<string | undefined>
  /** The files of a commit, by path below `files/`. */
  filesOf(commit: string): Promise<Version>
  /** The hashes of the files of a commit, by path. This is faster than `filesOf`, which also reads the size of each file. Cached. */
  hashesOf(commit: string): Promise<ReadonlyMap<string, string>>
  /** Caches the hashes of a new commit, so that the next `hashesOf` starts no git process. */
  remember(commit: string, hashes: ReadonlyMap<string, string>): void
  /** The bytes of these objects, by hash. Objects that the repository does not have are left out. */
  readObjects(hashes: readonly string[]): Promise<ReadonlyMap<string, Uint8Array>>
}

const config = `[core]
\trepositoryformatversion = 0
\tbare = true
`

// With these attributes git never converts files, even if a `.gitattributes` file of a project asks for it.
const attributes = '* -text -ident -filter -working-tree-encoding !eol -diff -merge\n'

export function openLineage(options: {
  readonly folder: string
  readonly refs: LineageRefs
  readonly program: string | undefined
}): Lineage {
  const { folder, refs, program } = options
  const git = createGit({ repository: folder, ...(program !== undefined && { program }) })
  let prepared: Promise<void> | undefined
  // the cache for `hashesOf`. One commit is enough, and its hashes stay valid, because commits do not change
  let latest: { readonly commit: string; readonly hashes: ReadonlyMap<string, string> } | undefined

  return {
    folder,
    refs,
    git,
    prepare() {
      prepared ??= makeRepository(folder).catch((error: unknown) => {
        prepared = undefined // the next call tries again
        throw new Failure('workspace.failed', 'the git repository of this workspace could not be created on disk', { cause: error })
      })
      return prepared
    },
    commitOf: (ref) => readRef(folder, ref),
    async filesOf(commit) {
      const entries = outputRecords(await git(['ls-tree', '-r', '-l', '-z', '--full-tree', commit, 'files/']))
      return new Map(entries.flatMap(parseTreeEntry).sort(([a], [b]) => (a < b ? -1 : 1)))
    },
    remember: (commit, hashes) => {
      latest = { commit, hashes }
    },
    async hashesOf(commit) {
      if (latest?.commit === commit) return latest.hashes
      const entries = outputRecords(await git(['ls-tree', '-r', '-z', '--full-tree', commit, 'files/']))
      const hashes = new Map(entries.flatMap(parseTreeHash))
      latest = { commit, hashes }
      return hashes
    },
    async readObjects(hashes) {
      const wanted = [...new Set(hashes)]
      if (wanted.length === 0) return new Map()
      return parseObjects(await git(['cat-file', '--batch', '--buffer'], { input: `${wanted.join('\n')}\n` }))
    },
  }
}

/** Creates the repository under another name and then renames it, so that a crash leaves no partial repository. */
async function makeRepository(folder: string): Promise<void> {
  if (existsSync(join(folder, 'HEAD'))) return
  const draft = `${folder}.${randomBytes(6).toString('hex')}.draft`
  for (const name of ['objects/info', 'objects/pack', 'refs/heads', 'info'])
    await mkdir(join(draft, name), { recursive: true, mode: 0o700 })
  await writeFile(join(draft, 'HEAD'), 'ref: refs/heads/nobody\n')
  await writeFile(join(draft, 'config'), config)
  await writeFile(join(draft, 'info/attributes'), attributes)
  await writeFile(join(draft, 'info/exclude'), excludedNames.map((name) => `${name}\n`).join(''))
  await mkdir(dirname(folder), { recursive: true, mode: 0o700 })
  try {
    await rename(draft, folder)
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    if (!existsSync(join(folder, 'HEAD'))) throw error // if HEAD exists, another process has created the repository
  }
}

/** Reads a ref from the files of git, which is faster than starting git. A ref is a file, or a line in the file `packed-refs`. */
async function readRef(folder: string, ref: string): Promise<string | undefined> {
  const loose = await readTextIfExists(join(folder, ref))
  if (loose !== undefined && /^[0-9a-f]{40}\n?$/.test(loose)) return loose.trim()
  const packed = await readTextIfExists(join(folder, 'packed-refs'))
  return packed
    ?.split('\n')
    .find((line) => line.endsWith(` ${ref}`))
    ?.slice(0, 40)
}

async function readTextIfExists(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch {
    return undefined // the file does not exist
  }
}

/** Parses `<mode> blob <hash> <size>\t<path>`. Skips links, submodules and unsafe names, because other programs may push such entries. */
function parseTreeEntry(record: string): readonly (readonly [string, StoredFile])[] {
  const [, mode, hash, size, path] = /^(\d+) blob ([0-9a-f]+) +(\d+)\tfiles\/(.+)$/s.exec(record) ?? []
  if (!mode?.startsWith('100') || hash === undefined || path === undefined || unsafeReason(path) !== undefined) return []
  return [[path, { hash, size: Number(size) }]]
}

/** Parses `<mode> blob <hash>\t<path>`, and skips the same entries as `parseTreeEntry`. */
function parseTreeHash(record: string): readonly (readonly [string, string])[] {
  const [, hash, path] = /^100\d+ blob ([0-9a-f]+)\tfiles\/(.+)$/s.exec(record) ?? []
  return hash === undefined || path === undefined || unsafeReason(path) !== undefined ? [] : [[path, hash]]
}

/**
 * Parses the output of `git cat-file --batch`: `<hash> <type> <size>\n<bytes>\n` for each object, and `<hash> missing\n` for a missing
 * object.
 */
function parseObjects(printed: Buffer): ReadonlyMap<string, Uint8Array> {
  const objects = new Map<string, Uint8Array>()
  for (let at = 0; at < printed.length; ) {
    const end = printed.indexOf(10, at)
    const [hash = '', type, size] = printed.toString('latin1', at, end).split(' ')
    at = end + 1
    if (type === 'missing' || size === undefined) continue
    objects.set(hash, new Uint8Array(printed.subarray(at, at + Number(size))))
    at += Number(size) + 1
  }
  return objects
}

/** The hash that git gives to a file with this content. */
export function gitBlobHash(bytes: Uint8Array): string {
  return createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex')
}

export const commitSubject = async (lineage: Lineage, commit: string): Promise<string> =>
  outputText(await lineage.git(['log', '-1', '--format=%s', commit]))

/** A repository that several machines share. The lineage, which is the local repository of one conversation, mirrors a part of it. */
export interface Origin {
  /** Sets the local branch to the branch of the shared repository. */
  fetchBranch(): Promise<void>
  /** Fetches the version of a turn if the shared repository has it. */
  fetchVersion(turnId: string): Promise<void>
  /** Sets the branch and the version of the turn, if the branch is still at `from`. Otherwise fetches the branch and returns false. */
  push(turnId: string, update: { readonly commit: string; readonly branch: string; readonly from: string | undefined }): Promise<boolean>
  /** Removes the branch and the versions of the conversation. */
  removeRefs(): Promise<void>
}

export function createOrigin(lineage: Lineage, remote: string): Origin {
  const { git, refs } = lineage

  async function has(ref: string): Promise<boolean> {
    return (await git(['ls-remote', '--refs', '--', remote, ref])).length > 0
  }
  const fetch = (ref: string) => git(['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--', remote, `+${ref}:${ref}`])

  const origin: Origin = {
    async fetchBranch() {
      if (await has(refs.branch)) await fetch(refs.branch)
    },
    async fetchVersion(turnId) {
      if (await has(refs.version(turnId))) await fetch(refs.version(turnId))
    },
    async push(turnId, { commit, branch, from }) {
      const lease = `--force-with-lease=${refs.branch}:${from ?? ''}`
      try {
        await git(['push', '--quiet', '--atomic', lease, '--', remote, `${branch}:${refs.branch}`, `+${commit}:${refs.version(turnId)}`])
        return true
      } catch (error) {
        if (!(error instanceof Failure) || !/stale info|rejected|fetch first|cannot lock ref/.test(error.message)) throw error
        await origin.fetchBranch()
        return false
      }
    },
    async removeRefs() {
      const listed = outputText(await git(['ls-remote', '--refs', '--', remote, refs.branch, `${refs.versions}*`]))
      const isOurs = (ref: string) => ref === refs.branch || ref.startsWith(refs.versions)
      const found = listed
        .split('\n')
        .flatMap((line) => line.split('\t')[1] ?? [])
        .filter(isOurs)
      if (found.length > 0) await git(['push', '--quiet', '--', remote, ...found.map((ref) => `:${ref}`)])
    },
  }
  return origin
}
