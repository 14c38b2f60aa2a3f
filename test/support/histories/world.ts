import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { createFileBlobs } from '../../../src/adapters/blobs/file.ts'
import { createSqliteStore } from '../../../src/adapters/store/sqlite/store.ts'
import { createCustomWorkspaces } from '../../../src/adapters/workspace/custom/custom.ts'
import { createGitWorkspaces } from '../../../src/adapters/workspace/git/git.ts'
import { localScope } from '../../../src/core/scope.ts'
import type { ConversationStore } from '../../../src/ports/store.ts'
import type { Workspaces } from '../../../src/ports/workspace.ts'
import { contentsBelow } from '../../../src/testing/conformance/workspace/fixture.ts'
import { createFixedClock, type FixedClock } from '../../../src/testing/fixed-clock.ts'
import { defineTool } from '../../../src/tools/define.ts'
import type { Tool } from '../../../src/tools/tool.ts'
import { foldersOnDisk } from '../workspace-folders.ts'
import type { ProgramChanges, Tree } from './model.ts'

/** A machine of a system: its own folders and its own connection to the shared database. */
export interface Machine {
  readonly store: ConversationStore
  readonly workspaces: Workspaces
  readonly tools: readonly Tool[]
}

/** Two machines that share database, blobs and, with git, a remote repository. */
export interface System {
  readonly clock: FixedClock
  readonly machines: readonly Machine[]
  /** The files or the text that the tools `sample.look` and `sample.echo` saw, by call. */
  readonly seen: ReadonlyMap<string, Tree | string>
  close(): Promise<void>
}

export async function createSystem(folder: string, kind: Workspaces['implementation']): Promise<System> {
  const clock = createFixedClock()
  const remote = join(folder, 'origin.git')
  if (kind === 'git') execFileSync('git', ['init', '--quiet', '--bare', remote])
  const seen = new Map<string, Tree | string>()
  const machines = await Promise.all(
    ['a', 'b'].map((name) => createMachine({ root: join(folder, name), shared: join(folder, 'shared'), remote, kind, clock, seen })),
  )
  return { clock, machines, seen, close: async () => void (await Promise.all(machines.map(({ store }) => store.close?.()))) }
}

interface MachineOptions {
  readonly root: string
  readonly shared: string
  readonly remote: string
  readonly kind: Workspaces['implementation']
  readonly clock: FixedClock
  readonly seen: Map<string, Tree | string>
}

async function createMachine({ root, shared, remote, kind, clock, seen }: MachineOptions): Promise<Machine> {
  const blobs = createFileBlobs({ folder: join(shared, 'blobs') })
  const store = await createSqliteStore({ file: join(shared, 'daybook.db'), blobs, clock })
  const folders = foldersOnDisk(root)
  const workspaces =
    kind === 'git'
      ? createGitWorkspaces({ ...folders, root, remote, blobs: store.blobs })
      : createCustomWorkspaces({ ...folders, blobs: store.blobs })
  return { store, workspaces, tools: [programTool(root), lookTool(seen), echoTool(seen)] }
}

/** Changes files of the turn on disk, as a program does. The workspace is not told about the changes. */
const programTool = (root: string): Tool =>
  defineTool({
    id: 'sample.program',
    description: 'Runs a program.',
    params: z.object({ contract: z.array(z.object({ filename: z.string(), description: z.string() })) }),
    exec: true,
    async run(_, { code = '{}', conversationId, origin: { turnId }, workspace }) {
      await workspace() // makes the folder of the turn
      for (const [rel, content] of Object.entries(JSON.parse(code) as { [rel: string]: string | null })) {
        const file = join(root, 'local/default/local', conversationId, 'out/workdir', turnId, 'files', rel)
        rmSync(file, { force: true })
        if (content === null) continue
        mkdirSync(dirname(file), { recursive: true })
        writeFileSync(file, content)
      }
      return {}
    },
  })

/** The program text for `sample.program`. */
export const programText = (changes: ProgramChanges): string =>
  JSON.stringify(Object.fromEntries(Object.entries(changes).map(([rel, content]) => [rel, content ?? null])))

const lookTool = (seen: Map<string, Tree | string>): Tool =>
  defineTool({
    id: 'sample.look',
    description: 'Looks at the files of a turn.',
    params: z.object({ turn: z.string().optional() }),
    repeatable: true,
    async run({ turn }, { workspace, origin }) {
      seen.set(origin.callId, await contentsBelow(await workspace(), `${turn ?? origin.turnId}/files`))
      return {}
    },
  })

const echoTool = (seen: Map<string, Tree | string>): Tool =>
  defineTool({
    id: 'sample.echo',
    description: 'Keeps its text.',
    params: z.object({ text: z.string() }),
    repeatable: true,
    run({ text }, { origin }) {
      seen.set(origin.callId, text)
      return {}
    },
  })

export const openOn = ({ workspaces }: Machine, conversationId: string) => workspaces.open(localScope, conversationId)
