import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { createMemoryBlobs } from '../src/adapters/blobs/memory.ts'
import { createCustomWorkspaces } from '../src/adapters/workspace/custom/custom.ts'
import { createGitWorkspaces } from '../src/adapters/workspace/git/git.ts'
import { localScope } from '../src/core/scope.ts'
import { beginTurn, createTestJournal } from '../src/testing/conformance/workspace-fixture.ts'
import { foldersOnDisk } from '../test/support/workspace-folders.ts'
import { median, report, timed } from './measure.ts'

const run = promisify(execFile)
const nameOf = (n: number) => `app/module-${n % 40}/file-${n}.ts`
const contentOf = (n: number) => `export const value${n} = ${n}\n`.repeat(20)

export async function bench(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-bench-workspace-'))
  try {
    await benchPublish(folder)
    await benchPull(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Compares publishing one changed file among 2,000 with `git add` and `git commit`. The two alternate, so that other load affects both. */
async function benchPublish(folder: string): Promise<void> {
  const files = 2_000
  const place = join(folder, 'git')
  const workspace = await createGitWorkspaces({ ...foldersOnDisk(place), root: place }).open(localScope, 'c1')
  const journal = createTestJournal()
  await workspace.startTurn('turn_0')
  await workspace.files.replaceFolder(
    'turn_0/files',
    new Map(Array.from({ length: files }, (_, n) => [nameOf(n), Buffer.from(contentOf(n))])),
  )
  await journal.publish(workspace, 'turn_0')

  const hand = join(folder, 'by-hand')
  for (let n = 0; n < files; n++) {
    mkdirSync(dirname(join(hand, nameOf(n))), { recursive: true })
    writeFileSync(join(hand, nameOf(n)), contentOf(n))
  }
  const git = (...args: string[]) => run('git', ['-C', hand, '-c', 'user.name=x', '-c', 'user.email=x@y', ...args])
  await git('init', '--quiet')
  const commit = async () => {
    await git('add', '--all')
    await git('commit', '--quiet', '--message', 'snapshot')
  }
  await commit()

  const times = { ours: [] as number[], floor: [] as number[] }
  for (let n = 1; n <= 15; n++) {
    const turn = await beginTurn(workspace, `turn_${n}`, journal)
    await turn.checkout('replace', [`turn_${n - 1}`])
    await turn.write(nameOf(n), `changed in ${n}`)
    writeFileSync(join(hand, nameOf(n)), `changed in ${n}`)
    times.floor.push(await timed(commit))
    times.ours.push(await timed(() => turn.publish()))
  }
  const floor = median(times.floor.slice(3))
  report(`git publish of 1 of ${files} files (by hand: ${floor.toFixed(1)} ms)`, median(times.ours.slice(3)) / floor, 1.5, 'by hand')
}

/** Counts how many blobs a pull fetches. Files that are already on the machine must not be fetched again. */
async function benchPull(folder: string): Promise<void> {
  const blobs = createMemoryBlobs()
  let read = 0
  const counting = {
    ...blobs,
    get(sha256: string) {
      read++
      return blobs.get(sha256)
    },
  }
  const machine = (name: string) => createCustomWorkspaces({ ...foldersOnDisk(join(folder, name)), blobs: counting }).open(localScope, 'c1')
  const [here, there] = [await machine('here'), await machine('there')]
  const journal = createTestJournal()
  await here.files.replaceFolder('turn_0/files', new Map(Array.from({ length: 500 }, (_, n) => [nameOf(n), Buffer.from(contentOf(n))])))
  await journal.publish(here, 'turn_0')
  await there.startTurn('turn_1')
  const pull = () => there.hydrate('turn_0', [{ area: 'files', rel: '' }], journal)
  await pull()
  read = 0
  const { fetched } = await pull()
  report(`custom pull of 500 files, all here: fetched (read ${read} blobs)`, fetched + read, 0, 'files')
}
