import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'
import { createMemoryBlobs } from '../src/adapters/blobs/memory.ts'
import { createSystemClock } from '../src/adapters/clock/system.ts'
import { createMemoryStore } from '../src/adapters/store/memory/store.ts'
import { createCustomWorkspaces } from '../src/adapters/workspace/custom/custom.ts'
import { createGitWorkspaces } from '../src/adapters/workspace/git/git.ts'
import { createAgentFrom } from '../src/agent/agent.ts'
import { localScope } from '../src/core/scope.ts'
import type { Workspaces } from '../src/ports/workspace.ts'
import { beginTurn, createTestJournal } from '../src/testing/conformance/workspace/fixture.ts'
import { reply, scriptedModel } from '../src/testing/scripted-model.ts'
import { defineTool } from '../src/tools/define.ts'
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
    await benchRounds(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Compares publishing one changed file among 2,000 with `git add` and `git commit`. The two alternate, so that other load affects both. */
async function benchPublish(folder: string): Promise<void> {
  const files = 2_000
  const place = join(folder, 'git')
  const workspace = await createGitWorkspaces({ ...foldersOnDisk(place), root: place, blobs: createMemoryBlobs() }).open(localScope, 'c1')
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

/** Counts how many blobs a pull fetches. A pull must not fetch files that are already on the machine. */
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

/**
 * Compares the rounds of a turn that has 10,000 files with the rounds of a turn that has 10 files. The tool runs no program. The two turns
 * alternate, so that other load affects both.
 */
async function benchRounds(folder: string): Promise<void> {
  for (const kind of ['custom', 'git'] as const) {
    const times = { few: [] as number[], many: [] as number[] }
    for (let n = 0; n < 3; n++) {
      times.few.push(...(await roundTimes(join(folder, `${kind}-few-${n}`), kind, 10)))
      times.many.push(...(await roundTimes(join(folder, `${kind}-many-${n}`), kind, 10_000)))
    }
    const few = median(times.few)
    report(`${kind}: round with 10,000 files (with 10 files: ${few.toFixed(2)} ms)`, median(times.many) / few, 1.5, 'with 10')
  }
}

/** The milliseconds of each round in a turn that has this many files in its folder. */
async function roundTimes(place: string, kind: Workspaces['implementation'], files: number): Promise<readonly number[]> {
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock: createSystemClock() })
  const folders = foldersOnDisk(place)
  const workspaces =
    kind === 'git'
      ? createGitWorkspaces({ ...folders, root: place, blobs: store.blobs })
      : createCustomWorkspaces({ ...folders, blobs: store.blobs })
  const starts: number[] = []
  const contents = new Map(Array.from({ length: files }, (_, n) => [nameOf(n), Buffer.from(contentOf(n))]))
  const fill = defineTool({
    id: 'project.fill',
    description: 'Makes the files.',
    params: z.object({}),
    async run(_, call) {
      await (await call.workspace()).files.replaceFolder(`${call.origin.turnId}/files`, contents)
      return {}
    },
  })
  const count = defineTool({
    id: 'project.count',
    description: 'Runs no program.',
    params: z.object({}),
    run() {
      starts.push(performance.now())
      return {}
    },
  })
  const rounds = Array.from({ length: 40 }, () => reply.call('project.count', {}))
  const model = scriptedModel([reply.call('project.fill', {}), ...rounds, reply.answer('Done.')])
  const agent = createAgentFrom({
    model,
    store,
    clock: createSystemClock(),
    workspaces,
    tools: [fill, count],
    settings: { maxRounds: 100 },
  })
  await agent.run('c1', 'Count.').result
  await agent.close()
  return starts
    .slice(1)
    .map((start, n) => start - (starts[n] as number))
    .slice(5)
}
