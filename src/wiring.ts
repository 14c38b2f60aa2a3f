import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createFileBlobs } from './adapters/blobs/file.ts'
import { createMemoryBlobs } from './adapters/blobs/memory.ts'
import { createSystemClock } from './adapters/clock/system.ts'
import { createPdfReader } from './adapters/documents/pdf.ts'
import { createDiskFiles } from './adapters/files/disk.ts'
import { createMemoryFiles } from './adapters/files/memory.ts'
import { createFileObjects } from './adapters/hosting/file-objects.ts'
import { createHosting } from './adapters/hosting/hosting.ts'
import { type ModelChoice, modelFrom, type NamedModelOptions } from './adapters/model/model-from.ts'
import { createChargeOf, createPriceOf } from './adapters/model/prices.ts'
import { cacheRulesOf } from './adapters/model/provider-rules.ts'
import { createMemoryStore } from './adapters/store/memory/store.ts'
import { makeFolder } from './adapters/store/sqlite/make-folder.ts'
import { createCustomWorkspaces, createMemoryWorkspaces } from './adapters/workspace/custom/custom.ts'
import { type Agent, type AgentParts, createAgentFrom } from './agent/agent.ts'
import { type Archive, createArchive } from './agent/archive.ts'
import { createOwner } from './agent/conversation/conversation.ts'
import { type AgentSettings, defaultAgentSettings } from './agent/settings.ts'
import type { Settings } from './config.ts'
import type { BlobRef } from './core/block/index.ts'
import { errorMessage, Failure } from './core/failure.ts'
import { documentEligibleMimes } from './core/sources/source.ts'
import type { BlobStore } from './ports/blobs.ts'
import type { DocumentReader } from './ports/documents.ts'
import type { Hosting } from './ports/hosting.ts'
import type { Model, ModelRole } from './ports/model.ts'
import type { ConversationStore } from './ports/store.ts'
import type { Workspaces } from './ports/workspace.ts'

/** What must be said to have an agent: a model, or one per role. Everything else has a default. */
export interface AgentOptions extends Omit<AgentParts, 'model' | 'store' | 'clock'>, Partial<Pick<AgentParts, 'store' | 'clock'>> {
  readonly model: ModelChoice | ModelChoices
}

type ModelChoices = { readonly decision: ModelChoice } & { readonly [R in Exclude<ModelRole, 'decision'>]?: ModelChoice }

/** An agent. Conversations live in memory unless a store is given, and files unless workspaces are; a model by name is opened when it is first asked. */
export function createAgent(options: AgentOptions): Agent {
  const clock = options.clock ?? createSystemClock()
  const store = options.store ?? createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const documents = options.documents ?? createPdfReader()
  const workspaces = options.workspaces ?? createMemoryWorkspaces({ blobs: store.blobs, createFiles: createMemoryFiles })
  const model = modelsFrom(options.model, { reader: documents })
  const settings = { priceOf: createPriceOf({ now: clock.now }), ...offlineSources(model), ...options.settings }
  return createAgentFrom({ bookkeeping, ...options, model, store, clock, documents, workspaces, settings })
}

/** The offline model answers from documents, so they must be citable. */
function offlineSources(model: AgentParts['model']): Pick<AgentSettings, 'sources'> | undefined {
  const { name } = 'stream' in model ? model : model.decision
  return name === 'offline' ? { sources: { eligibleMimes: documentEligibleMimes } } : undefined
}

function modelsFrom(choice: AgentOptions['model'], options: NamedModelOptions): AgentParts['model'] {
  if (typeof choice === 'string' || 'stream' in choice || 'doStream' in choice) return modelFrom(choice, options)
  const { decision, gate, compaction } = choice
  return {
    decision: modelFrom(decision, options),
    ...(gate !== undefined && { gate: modelFrom(gate, options) }),
    ...(compaction !== undefined && { compaction: modelFrom(compaction, options) }),
  }
}

/** The embedded store: one SQLite file and a folder of blobs, made when they are not there. */
export async function openStore(settings: Pick<Settings, 'data'>): Promise<ConversationStore> {
  try {
    makeFolder(settings.data)
  } catch (error) {
    const message = `conversations can not be kept in ${settings.data} (${errorMessage(error)}): choose another folder with --data`
    throw new Failure('store.failed', message, { cause: error })
  }
  const { createSqliteStore } = await import('./adapters/store/sqlite/store.ts') // most agents are made without it
  return createSqliteStore({ ...storePaths(settings), clock: createSystemClock() })
}

/** Bytes of which no entry tells. */
export interface UnreferencedBlobs {
  readonly blobs: number
  readonly bytes: number
}

/**
 * How long bytes may wait for the entry that refers to them. An upload is entered at once, but a round enters the results of its calls
 * together, and a turn its files when it ends: what was put by a running server may be hours old and needed. A day is longer than any.
 */
const UNREFERENCED_BLOB_GRACE_MS = 24 * 3_600_000

/** What processes that died have left among the blobs. Nothing is written; undefined where nothing was ever kept. */
export async function findUnreferencedBlobs(
  settings: Pick<Settings, 'data'>,
): Promise<{ readonly old: UnreferencedBlobs; readonly young: UnreferencedBlobs } | undefined> {
  const { file, blobs } = storePaths(settings)
  if (!existsSync(file)) return undefined
  const { findUnreferenced: unreferencedAmong } = await import('./adapters/store/sqlite/remove.ts')
  const stored = await blobs.list() // before the entries: what is entered meanwhile is found there
  const before = Date.now() - UNREFERENCED_BLOB_GRACE_MS
  const unreferenced = Object.groupBy(unreferencedAmong(file, stored), ({ putAt }) => (putAt < before ? 'old' : 'young'))
  return { old: countOf(unreferenced.old), young: countOf(unreferenced.young) }
}

/** Removes those that no entry can be on its way to. Servers may go on meanwhile. */
export async function sweepUnreferencedBlobs(settings: Pick<Settings, 'data'>): Promise<UnreferencedBlobs> {
  const { file, blobs } = storePaths(settings)
  if (!existsSync(file)) return countOf([])
  const { sweepUnreferenced, findUnreferenced: unreferencedAmong } = await import('./adapters/store/sqlite/remove.ts')
  const before = Date.now() - UNREFERENCED_BLOB_GRACE_MS
  const old = (await blobs.list()).filter(({ putAt }) => putAt < before)
  const removed = await sweepUnreferenced(file, unreferencedAmong(file, old), (sha256) => blobs.removeIfPutBefore(sha256, before))
  return countOf(removed)
}

const countOf = (blobs: readonly BlobRef[] = []): UnreferencedBlobs => ({
  blobs: blobs.length,
  bytes: blobs.reduce((sum, { size }) => sum + size, 0),
})

const storePaths = ({ data }: Pick<Settings, 'data'>) => ({
  file: join(data, 'daybook.db'),
  blobs: createFileBlobs({ folder: join(data, 'blobs') }),
})

/** Folders on disk for the files of every conversation, beside the store. `blobs` is the store's. */
export async function openWorkspaces(
  settings: Pick<Settings, 'data' | 'workspace' | 'workspaceRemote'>,
  blobs: BlobStore,
): Promise<Workspaces> {
  const root = resolve(settings.data, 'workspaces')
  const folders = {
    openFiles: (folder: string) => createDiskFiles({ folder: join(root, folder) }),
    removeFiles: (folder: string) => rm(join(root, folder), { recursive: true, force: true }),
  }
  if (settings.workspace === 'custom') return createCustomWorkspaces({ ...folders, blobs })
  const { createGitWorkspaces } = await import('./adapters/workspace/git/git.ts')
  const { workspaceRemote: remote } = settings
  return createGitWorkspaces({ ...folders, root, ...(remote !== undefined && { remote }) })
}

/** What providers charge and how they cache: what the ledgers reckon with. */
export const bookkeeping = { rulesOf: cacheRulesOf, chargeOf: createChargeOf() }

/** The agent that a module exports, made anew each time it is asked for. */
export function loadAgentModule(
  file: string,
): () => Promise<Pick<AgentParts, 'tools' | 'builtIn' | 'instructions' | 'customisation' | 'settings' | 'tokens'>> {
  return async () => {
    const { agent } = (await import(pathToFileURL(resolve(file)).href)) as { agent?: unknown }
    const made: unknown = typeof agent === 'function' ? await agent() : agent
    if (typeof made === 'object' && made !== null) return made // what it holds is looked at when it is used
    throw new RangeError(`${file} must export \`agent\`: an object with tools, instructions and settings, or a function that makes one`)
  }
}

/** What an agent is told of besides its settings. */
export type OpenOptions = Pick<AgentParts, 'onEntry' | 'onProblem' | 'tools'> & {
  /** How long a finished answer waits for a late word. */
  readonly exitGraceMs?: number
}

/** The agent that the settings describe: conversations, files and what was handed over live in the data folder. */
export async function openAgent(
  settings: Pick<Settings, 'model' | 'data' | 'workspace' | 'workspaceRemote' | 'budget'>,
  { exitGraceMs = 0, ...told }: OpenOptions = {},
): Promise<{ readonly agent: Agent; close(): Promise<void> }> {
  const documents = createPdfReader()
  const model = modelOf(settings.model, documents)
  const store = await openStore(settings)
  const clock = createSystemClock()
  const agent = createAgentFrom({
    bookkeeping,
    ...told,
    model,
    store,
    clock,
    workspaces: await openWorkspaces(settings, store.blobs),
    hosting: openHosting(settings, store),
    documents,
    settings: { ...agentSettings(settings), exitGraceMs },
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
  settings: Pick<Settings, 'model' | 'data' | 'workspace' | 'workspaceRemote' | 'budget'>,
): Promise<{ readonly archive: Archive; close(): Promise<void> }> {
  const store = await openStore(settings)
  const clock = createSystemClock()
  const archive = createArchive({
    store,
    clock,
    owner: createOwner(clock),
    hosting: openHosting(settings, store),
    workspaces: await openWorkspaces(settings, store.blobs),
    agentParts: { settings: agentSettings(settings) },
    bookkeeping,
    publishEntry: () => {},
    announceDeleted: () => {}, // nobody follows
    commitToRunning: async () => false, // nothing runs
  })
  return { archive, close: () => store.close() }
}

function agentSettings({ model, budget }: Pick<Settings, 'model' | 'budget'>): Partial<AgentSettings> {
  return {
    maxRounds: budget.rounds,
    maxMoney: budget.money,
    priceOf: createPriceOf({ now: createSystemClock().now }),
    // the offline model answers from documents, so it must be able to cite them
    sources: model === 'offline' ? { eligibleMimes: documentEligibleMimes } : defaultAgentSettings.sources,
  }
}

/** What a configuration file exports. The one place where a file outside the package is run. */
export async function importConfiguration(file: string): Promise<unknown> {
  const module = (await import(pathToFileURL(file).href)) as { readonly default?: unknown }
  return module.default
}

function openHosting({ data }: Pick<Settings, 'data'>, { blobs }: ConversationStore): Hosting {
  return createHosting({ objects: createFileObjects({ files: createDiskFiles({ folder: join(data, 'hosted') }) }), blobs })
}

/** A model itself, or one by its name. */
function modelOf(choice: Settings['model'], reader: DocumentReader): Model {
  if (typeof choice === 'string') return modelFrom(choice, { reader })
  if ('stream' in choice || 'doStream' in choice) return modelFrom(choice as Model) // as far as can be seen
  throw new Failure(
    'model.unavailable',
    'what daybook.config.ts gives as model is none: give a name, a model of the AI SDK, or one of your own',
  )
}
