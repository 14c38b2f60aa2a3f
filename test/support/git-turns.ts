import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createGitWorkspaces } from '../../src/adapters/workspace/git/git.ts'
import { localScope } from '../../src/core/scope.ts'
import { beginTurn, createTestJournal, publishTurn } from '../../src/testing/conformance/workspace/fixture.ts'
import { foldersOnDisk } from './workspace-folders.ts'

/** The contents of files, by path below `files/`. */
export type Tree = Readonly<Record<string, string>>

/** The version of the first turn. */
export const first: Tree = { 'app/a': 'a1', 'app/b': 'b1', 'app/sub/c': 'c1', 'app/x.tmp': 'x1', 'notes/n': 'n1' }

const home = 'local/default/local/c1/out/workdir'

/** Makes turns in git workspaces on disk, each in a workspace of its own. */
export function createGitTurns() {
  const root = mkdtempSync(join(tmpdir(), 'daybook-git-turns-'))
  const newFolder = () => mkdtempSync(join(root, 'w-'))
  const open = (folder: string) =>
    createGitWorkspaces({ ...foldersOnDisk(folder), root: folder, blobs: createMemoryBlobs() }).open(localScope, 'c1')
  let published: Promise<string> | undefined

  async function publishFirst(): Promise<string> {
    const folder = newFolder()
    await publishTurn(await open(folder), 'turn_1', createTestJournal(), first)
    rmSync(join(folder, home, 'turn_1'), { recursive: true })
    return folder
  }

  /** The first turn of a conversation. */
  async function firstTurn() {
    const folder = newFolder()
    return beginIn(folder, 'turn_1')
  }

  /** A turn that follows a turn with the version `first`, and has checked out the sources. */
  async function secondTurn(sources: readonly string[]) {
    const folder = newFolder()
    published ??= publishFirst()
    cpSync(await published, folder, { recursive: true })
    const begun = await beginIn(folder, 'turn_2')
    const outcome = sources.length > 0 ? await begun.turn.checkout('replace', sources) : { ok: true }
    if (!outcome.ok) throw new Error(JSON.stringify(outcome))
    return begun
  }

  async function beginIn(folder: string, turnId: string) {
    const [workspace, journal] = [await open(folder), createTestJournal()]
    const turn = await beginTurn(workspace, turnId, journal)
    async function version(): Promise<Tree> {
      const rels = (await workspace.version(turnId, journal)) ?? []
      const read = rels.map(async ({ rel }) => [rel, Buffer.from((await workspace.readVersion(turnId, rel, journal)) ?? '').toString()])
      return Object.fromEntries(await Promise.all(read)) as Tree
    }
    return { workspace, turn, version, at: join(folder, home, turnId) }
  }

  return { firstTurn, secondTurn, newFolder, remove: () => rmSync(root, { recursive: true, force: true }) }
}

const run = promisify(execFile)
const environment = { PATH: process.env.PATH, HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1' }

/** Runs git as a program of the agent does. Returns its output, or undefined when it failed. */
export const runGit = (folder: string, ...args: readonly string[]): Promise<string | undefined> =>
  run('git', ['-C', folder, ...args], { env: environment }).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  )

/** The files below `files/`, without the `.git` folders of nested repositories. */
export function filesIn(folder: string): Tree {
  const files = join(folder, 'files')
  if (!existsSync(files)) return {}
  const names = (readdirSync(files, { recursive: true }) as string[]).filter((name) => !name.split('/').includes('.git'))
  const plain = names.filter((name) => statSync(join(files, name)).isFile())
  return Object.fromEntries(plain.map((name) => [name, readFileSync(join(files, name), 'utf8')]))
}
