import { randomBytes } from 'node:crypto'
import { copyFile, lstat, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../../../core/failure.ts'
import type { Lineage } from './lineage.ts'
import { author, createGit, outputText } from './run.ts'
import type { TurnIndex } from './turn-index.ts'

const BRANCH = 'refs/heads/workspace'
/** The hash that git gives to a folder without files. */
const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'

// The settings of the repository. They let git run nothing in the background, because the folder is removed when the turn is closed.
const config = `[core]
\trepositoryformatversion = 0
\tbare = false
\tlogallrefupdates = true
[gc]
\tauto = 0
[maintenance]
\tauto = false
[user]
\tname = ${author.name}
\temail = ${author.email}
`

interface TurnRepositoryParts {
  readonly turnId: string
  /** The commit of the latest version of the conversation. Undefined when the conversation has no version. */
  readonly parent: string | undefined
  readonly lineage: Lineage
  readonly index: TurnIndex
  readonly program: string | undefined
}

/**
 * Creates a repository in the folder of a turn, for programs of the agent. It is an ordinary clone without a remote. Its last commit has
 * exactly the files that the turn has checked out. The commits before it are the earlier versions of the conversation. So `add`,
 * `commit`, `checkout`, `stash` and `reset` do the same as in every clone. Programs may change or remove the repository, so Daybook never
 * runs git in it, and publish reads only the files of the turn. If the repository is intact, it is not changed.
 */
export async function ensureTurnRepository(parts: TurnRepositoryParts): Promise<void> {
  if (!(await isIntact(parts.index.turnRoot))) await makeRepository(parts)
}

/**
 * Creates the repository again after a checkout, so that its last commit has the checked-out files. If a program has made a commit, a
 * branch, a tag or a stash, the repository is not changed. git then shows the checked-out files as uncommitted changes.
 */
export async function renewTurnRepository(parts: TurnRepositoryParts): Promise<void> {
  if (!(await isUsed(parts.index.turnRoot))) await makeRepository(parts)
}

/** Creates the repository in another folder, and moves it when it is complete. */
async function makeRepository(parts: TurnRepositoryParts): Promise<void> {
  const { turnRoot } = parts.index
  const draft = join(parts.lineage.folder, '..', `turn-repository.${randomBytes(6).toString('hex')}`)
  try {
    await fillRepository(draft, parts)
    await mkdir(turnRoot, { recursive: true })
    if (!(await lstat(turnRoot)).isDirectory())
      throw new Failure('file.unsafe', 'the folder of this turn was replaced by a link', { details: { reason: 'symlink_blocked' } })
    await rm(join(turnRoot, '.git'), { recursive: true, force: true })
    await rename(draft, join(turnRoot, '.git'))
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    if (error instanceof Failure) throw error
    throw new Failure('workspace.failed', 'the git repository of this turn could not be created on disk', { cause: error })
  }
}

/**
 * Fills a new repository with the index of the turn, a commit of the files in the index, and all commits of the lineage. All objects are
 * copied, so the repository works without the lineage.
 */
async function fillRepository(draft: string, { turnId, parent, lineage, index, program }: TurnRepositoryParts): Promise<void> {
  const git = createGit({ repository: draft, ...(program !== undefined && { program }) })
  for (const name of ['objects/info', 'refs/heads', 'info']) await mkdir(join(draft, name), { recursive: true })
  await writeFile(join(draft, 'HEAD'), `ref: ${BRANCH}\n`)
  await writeFile(join(draft, 'config'), config)
  await writeFile(join(draft, 'info/exclude'), 'outputs/\nattachments/\n')
  const hasIndex = await copyIfExists(index.file, join(draft, 'index'))
  const isFirst = parent === undefined && !hasIndex // in this case, the repository needs no objects of the lineage
  const borrowed = join(draft, 'objects/info/alternates')
  if (!isFirst) await writeFile(borrowed, `${join(lineage.folder, 'objects')}\n`)
  const [tree, parentTree] = await Promise.all([
    git(['write-tree']).then(outputText),
    parent === undefined ? undefined : git(['rev-parse', `${parent}^{tree}`]).then(outputText),
  ])
  const parents = parent === undefined ? [] : ['-p', parent]
  const message = `Files of ${turnId} before changes`
  const commit = tree === parentTree ? parent : outputText(await git(['commit-tree', ...parents, '-m', message, tree]))
  await writeFile(join(draft, BRANCH), `${commit}\n`)
  if (isFirst) return
  // Copies the objects of the lineage into this repository. The copies are not synced to disk, because the lineage has the same objects.
  await git(['-c', 'core.fsync=none', 'repack', '-a', '-d', '-q'])
  await rm(borrowed)
}

/** Copies a file. Returns false when there is no such file. */
async function copyIfExists(from: string, to: string): Promise<boolean> {
  try {
    await copyFile(from, to)
    return true
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    return false
  }
}

/**
 * Whether HEAD leads to a commit, or to a branch that a program of the agent has created. The function reads the files of the repository
 * itself, because Daybook never runs git in it.
 */
async function isIntact(turnRoot: string): Promise<boolean> {
  try {
    for (const part of ['', '.git', '.git/refs', '.git/refs/heads']) {
      if (!(await lstat(join(turnRoot, part))).isDirectory()) return false
    }
    const head = await readRegularFile(join(turnRoot, '.git/HEAD'))
    if (head.trim() !== `ref: ${BRANCH}`) return /^[0-9a-f]{40}\s*$/.test(head) || head.startsWith('ref: refs/heads/')
    const loose = await readRegularFile(join(turnRoot, '.git', BRANCH)).catch(() => '')
    const packed = await readRegularFile(join(turnRoot, '.git/packed-refs')).catch(() => '')
    return /^[0-9a-f]{40}\s*$/.test(loose) || packed.includes(` ${BRANCH}\n`)
  } catch {
    return false // `.git` is missing or is not a repository
  }
}

/**
 * Files and folders that git writes when it changes a ref, packs refs, or makes a tag, a work tree, a submodule or a hook. A new repository
 * has none of them.
 */
const tracesOfUse = ['logs', 'packed-refs', 'refs/tags', 'worktrees', 'modules', 'hooks']

/** Whether a program may have made a commit, a branch, a tag or a stash in the repository, or has replaced `.git` by a file or a link. */
async function isUsed(turnRoot: string): Promise<boolean> {
  const repository = join(turnRoot, '.git')
  const stats = await lstat(repository).catch(() => undefined)
  if (!stats?.isDirectory()) return stats !== undefined
  const found = await Promise.all(tracesOfUse.map((name) => lstat(join(repository, name)).catch(() => undefined)))
  return found.some((each) => each !== undefined) || (await hasOtherConfig(repository)) || (await hasStagedObjects(repository))
}

/** Whether a program has changed the settings, or has removed them. */
async function hasOtherConfig(repository: string): Promise<boolean> {
  return (await readRegularFile(join(repository, 'config')).catch(() => '')) !== config
}

/** Whether `git add` has stored the content of a file. In this case, `objects` has folders that a new repository does not have. */
async function hasStagedObjects(repository: string): Promise<boolean> {
  const commit = await readRegularFile(join(repository, BRANCH)).catch(() => '')
  // A new repository has a pack with the objects of its commit, or one empty commit and its tree.
  const ofNew = new Set(['info', 'pack', commit.slice(0, 2), EMPTY_TREE.slice(0, 2)])
  const names = await readdir(join(repository, 'objects')).catch(() => [])
  return names.some((name) => !ofNew.has(name))
}

async function readRegularFile(path: string): Promise<string> {
  if (!(await lstat(path)).isFile()) throw new TypeError('not a file')
  return readFile(path, 'utf8')
}
