import { mkdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createFileBlobs } from './adapters/blobs/file.ts'
import { createMemoryBlobs } from './adapters/blobs/memory.ts'
import { createSystemClock } from './adapters/clock/system.ts'
import { createDiskFiles } from './adapters/files/disk.ts'
import { createMemoryFiles } from './adapters/files/memory.ts'
import { createFileObjects } from './adapters/hosting/file-objects.ts'
import { createHosting } from './adapters/hosting/hosting.ts'
import { createMemoryStore } from './adapters/store/memory.ts'
import { createCustomWorkspaces } from './adapters/workspace/custom.ts'
import { createMemoryWorkspaces } from './adapters/workspace/memory.ts'
import { type Agent, type AgentParts, createAgentFrom } from './agent/agent.ts'
import { type Archive, createArchive } from './agent/archive.ts'
import { thisProcess } from './agent/conversation.ts'
import { defaultAgentSettings } from './agent/settings.ts'
import type { Settings } from './config.ts'
import { Failure } from './core/failure.ts'
import { documentEligibleMimes } from './core/sources/eligible.ts'
import type { Hosting } from './ports/hosting.ts'
import type { Model } from './ports/model.ts'
import type { ConversationStore } from './ports/store.ts'
import type { Workspaces } from './ports/workspace.ts'

/** What must be said to have an agent: a model. Everything else has a default. */
export type AgentOptions = Omit<AgentParts, 'store' | 'clock'> & Partial<Pick<AgentParts, 'store' | 'clock'>>

/** An agent. Conversations live in memory unless a store is given, and files unless workspaces are. */
export function createAgent(options: AgentOptions): Agent {
  const clock = options.clock ?? createSystemClock()
  const store = options.store ?? createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const workspaces = options.workspaces ?? createMemoryWorkspaces({ blobs: store.blobs, createFiles: createMemoryFiles })
  return createAgentFrom({ ...options, store, clock, workspaces })
}

/** The embedded store: one SQLite file and a folder of blobs, made when they are not there. */
export async function openStore(settings: Pick<Settings, 'data'>): Promise<ConversationStore> {
  await mkdir(settings.data, { recursive: true, mode: 0o700 })
  const { createSqliteStore } = await import('./adapters/store/sqlite.ts') // most agents are made without it
  const blobs = createFileBlobs({ folder: join(settings.data, 'blobs') })
  return createSqliteStore({ file: join(settings.data, 'daybook.db'), blobs, clock: createSystemClock() })
}

/** What an agent is told of besides its settings. */
export type OpenOptions = Pick<AgentParts, 'onEntry' | 'onProblem' | 'tools'> & {
  /** How long a finished answer waits for a late word. */
  readonly exitGraceMs?: number
}

/** The agent that the settings describe: conversations, files and what was handed over live in the data folder. */
export async function openAgent(
  settings: Pick<Settings, 'model' | 'data' | 'workspace' | 'budget'>,
  { exitGraceMs = 0, ...told }: OpenOptions = {},
): Promise<{ readonly agent: Agent; close(): Promise<void> }> {
  const model = modelOf(settings.model)
  const { createPdfReader } = await import('./adapters/documents/pdf.ts')
  const store = await openStore(settings)
  const documents = createPdfReader()
  const agent = createAgentFrom({
    ...told,
    model,
    store,
    clock: createSystemClock(),
    workspaces: await openWorkspaces(settings, store),
    hosting: openHosting(settings, store),
    documents,
    settings: {
      exitGraceMs,
      maxRounds: settings.budget.rounds,
      maxMoney: settings.budget.money,
      // the offline model answers from documents, so it must be able to cite them
      sources: settings.model === 'offline' ? { eligibleMimes: documentEligibleMimes } : defaultAgentSettings.sources,
    },
  })
  return {
    agent,
    async close() {
      await agent.close()
      await documents.close()
      await store.close()
    },
  }
}

/** The conversations of a data folder, for whoever takes no turns and so needs no model. */
export async function openArchive(
  settings: Pick<Settings, 'data' | 'workspace'>,
): Promise<{ readonly archive: Archive; close(): Promise<void> }> {
  const store = await openStore(settings)
  const clock = createSystemClock()
  const archive = createArchive({
    store,
    clock,
    owner: thisProcess(clock),
    hosting: openHosting(settings, store),
    workspaces: await openWorkspaces(settings, store),
    announce: () => {}, // nobody follows
    enterRunning: async () => false, // nothing runs
  })
  return { archive, close: () => store.close() }
}

/** What a configuration file exports. The one place where a file outside the package is run. */
export async function importConfiguration(file: string): Promise<unknown> {
  const module = (await import(pathToFileURL(file).href)) as { readonly default?: unknown }
  return module.default
}

function openHosting({ data }: Pick<Settings, 'data'>, { blobs }: ConversationStore): Hosting {
  return createHosting({ objects: createFileObjects({ files: createDiskFiles({ folder: join(data, 'hosted') }) }), blobs })
}

async function openWorkspaces(
  { data, workspace }: Pick<Settings, 'data' | 'workspace'>,
  { blobs }: ConversationStore,
): Promise<Workspaces> {
  const root = resolve(data, 'workspaces')
  const folders = {
    openFiles: (folder: string) => createDiskFiles({ folder: join(root, folder) }),
    removeFiles: (folder: string) => rm(join(root, folder), { recursive: true, force: true }),
  }
  if (workspace === 'custom') return createCustomWorkspaces({ ...folders, blobs })
  const { createGitWorkspaces } = await import('./adapters/workspace/git.ts')
  return createGitWorkspaces({ ...folders, root })
}

/** A model itself, or one by its name. */
function modelOf(choice: Settings['model']): Model {
  if (choice === 'offline') return missingModel(choice)
  if (typeof choice === 'object' && 'stream' in choice && typeof choice.stream === 'function') return choice as Model // as far as can be seen
  const name = typeof choice === 'string' ? `the model "${choice}"` : 'what the configuration gives as model'
  throw new Failure('model.unavailable', `${name} can not be used here: give a model in daybook.config.ts`)
}

/** Until the model that needs nothing is a part of the package: everything but asking works, and whoever asks is told. */
function missingModel(name: string): Model {
  const message = `the model "${name}" is not a part of this version: give another in daybook.config.ts`
  return {
    name,
    window: 200_000,
    async *stream() {
      const by = { service_name: name, provider: name, model_name: name, error_type: 'ModelMissing' }
      yield { type: 'error', error: { ...by, kind: 'unknown', message, stage: 'before_output', retryable: false } }
    },
  }
}
