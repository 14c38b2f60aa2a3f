import { randomBytes } from 'node:crypto'
import { lstat, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../../../core/failure.ts'
import type { Lineage } from './lineage.ts'
import { author, createGit } from './run.ts'

const BRANCH = 'refs/heads/workspace'

// What the agent's programs find: the lineage as `workspace`, nothing of it in the folder, and nowhere to push to.
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
 * A repository for the agent's programs at the root of the turn: `log`, `diff`, `show`, `commit`. It is theirs: what they do to it changes
 * nothing of ours, and git never runs with what is written in it. So it is made elsewhere and moved there when it is whole.
 */
export async function makeTurnRepository(
  lineage: Lineage,
  head: string | undefined,
  turnRoot: string,
  program: string | undefined,
): Promise<void> {
  const place = join(turnRoot, '.git')
  if (await isIntact(turnRoot)) return
  const draft = join(lineage.folder, '..', `turn-repository.${randomBytes(6).toString('hex')}`)
  try {
    for (const inside of ['objects', 'refs/heads', 'info']) await mkdir(join(draft, inside), { recursive: true })
    await writeFile(join(draft, 'HEAD'), `ref: ${BRANCH}\n`)
    await writeFile(join(draft, 'config'), config)
    await writeFile(join(draft, 'info/sparse-checkout'), '')
    await writeFile(join(draft, 'info/exclude'), 'outputs/\nattachments/\n')
    if (head !== undefined) await fillRepository(draft, lineage, program)
    await mkdir(turnRoot, { recursive: true })
    if (!(await lstat(turnRoot)).isDirectory())
      throw new Failure('file.unsafe', 'the root of this turn is a link', { details: { reason: 'symlink_blocked' } })
    await rm(place, { recursive: true, force: true })
    await rename(draft, place)
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    if (error instanceof Failure) throw error
    throw new Failure('workspace.failed', 'the repository of this turn could not be made on disk', { cause: error })
  }
}

/** The branch, its history, and an index that says of every file that it is not here. */
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

/** Read as plain files: a branch that names a commit, or one that has none yet. Anything else is made anew. */
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
    return false // not there, or not what it should be
  }
}

async function readRegularFile(path: string): Promise<string> {
  if (!(await lstat(path)).isFile()) throw new TypeError('not a file')
  return readFile(path, 'utf8')
}
