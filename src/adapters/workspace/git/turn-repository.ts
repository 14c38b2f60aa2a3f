import { randomBytes } from 'node:crypto'
import { lstat, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../../../core/failure.ts'
import type { Lineage } from './lineage.ts'
import { author, createGit } from './run.ts'

const BRANCH = 'refs/heads/workspace'

// The configuration of the repository that programs of the agent see. It has the branch `workspace`, no checked-out files and no remote.
const config = `[core]
\trepositoryformatversion = 0
\tbare = false
\tlogallrefupdates = false
\tsparseCheckout = true
[user]
\tname = ${author.name}
\temail = ${author.email}
`

/**
 * Creates a repository in the folder of the turn, in which programs of the agent can use `log`, `diff`, `show` and `commit`. Programs may
 * change it in any way, so Daybook never runs git in it. It is created in another folder, and moved when it is complete.
 */
export async function makeTurnRepository(
  lineage: Lineage,
  head: string | undefined,
  turnRoot: string,
  program: string | undefined,
): Promise<void> {
  const target = join(turnRoot, '.git')
  if (await isIntact(turnRoot)) return
  const draft = join(lineage.folder, '..', `turn-repository.${randomBytes(6).toString('hex')}`)
  try {
    for (const name of ['objects', 'refs/heads', 'info']) await mkdir(join(draft, name), { recursive: true })
    await writeFile(join(draft, 'HEAD'), `ref: ${BRANCH}\n`)
    await writeFile(join(draft, 'config'), config)
    await writeFile(join(draft, 'info/sparse-checkout'), '')
    await writeFile(join(draft, 'info/exclude'), 'outputs/\nattachments/\n')
    if (head !== undefined) await fillRepository(draft, lineage, program)
    await mkdir(turnRoot, { recursive: true })
    if (!(await lstat(turnRoot)).isDirectory())
      throw new Failure('file.unsafe', 'the root of this turn is a link', { details: { reason: 'symlink_blocked' } })
    await rm(target, { recursive: true, force: true })
    await rename(draft, target)
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    if (error instanceof Failure) throw error
    throw new Failure('workspace.failed', 'the repository of this turn could not be made on disk', { cause: error })
  }
}

/** Fetches the branch with its history. Makes an index in which every file is marked as not checked out. */
async function fillRepository(draft: string, lineage: Lineage, program: string | undefined): Promise<void> {
  const git = createGit({ repository: draft, ...(program !== undefined && { program }) })
  await git([
    'fetch',
    '--quiet',
    '--no-tags',
    '--no-write-fetch-head',
    '--update-head-ok',
    lineage.folder,
    `${lineage.refs.branch}:${BRANCH}`,
  ])
  await git(['-c', 'core.sparseCheckout=true', 'read-tree', '-m', '-u', BRANCH], { workTree: draft })
}

/**
 * Whether HEAD leads to a commit, or to a branch of the agent. Only files are read, because Daybook must not run git in a repository of the
 * agent.
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

async function readRegularFile(path: string): Promise<string> {
  if (!(await lstat(path)).isFile()) throw new TypeError('not a file')
  return readFile(path, 'utf8')
}
