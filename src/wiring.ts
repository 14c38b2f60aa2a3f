/** Wiring: from settings to adapters to an agent. The only module that knows every concrete implementation. */

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
import { createMemoryObjects } from './adapters/hosting/memory-objects.ts'
import { type ModelChoice, modelFrom, type NamedModelOptions } from './adapters/model/model-from.ts'
import { createChargeOf, createPriceOf } from './adapters/model/prices.ts'
import { cacheRulesOf } from './adapters/model/provider-rules.ts'
import { type Provider, providers } from './adapters/model/providers.ts'
import { createMemoryStore } from './adapters/store/memory/store.ts'
import { makeFolder } from './adapters/store/sqlite/make-folder.ts'
import { createCustomWorkspaces, createMemoryWorkspaces } from './adapters/workspace/custom/custom.ts'
import { type Agent, type AgentParts, createAgentFrom } from './agent/agent.ts'
import { type Archive, createArchive } from './agent/archive.ts'
import { createOwner } from './agent/conversation/conversation.ts'
import { type AgentSettings, defaultAgentSettings } from './agent/settings.ts'
import type { Settings } from './config.ts'
import type { BlobRef } from './core/block/index.ts'
import type { TokenCounter } from './core/estimate/tokens.ts'
import { errorMessage, Failure } from './core/failure.ts'
import { documentEligibleMimes } from './core/sources/source.ts'
import type { BlobStore } from './ports/blobs.ts'
import type { DocumentReader } from './ports/documents.ts'
import type { Hosting } from './ports/hosting.ts'
import type { Model, ModelRole } from './ports/model.ts'
import type { ConversationStore } from './ports/store.ts'
import type { Workspaces } from './ports/workspace.ts'

/** What an agent needs: a model, or a model per role. Everything else has a default. */
export interface AgentOptions extends Omit<AgentParts, 'model' | 'store' | 'clock'>, Partial<Pick<AgentParts, 'store' | 'clock'>> {
  readonly model: ModelChoice | ModelChoices
}

/** One model per role. Roles without one use the model of `decision`. */
export type ModelChoices = { readonly decision: ModelChoice } & { readonly [R in Exclude<ModelRole, 'decision'>]?: ModelChoice }

/**
 * An agent from options. Conversations and files are in memory unless a store and workspaces are given. The provider's package of a
 * named model is loaded with its first call.
 */
export function createAgent(options: AgentOptions): Agent {
  const clock = options.clock ?? createSystemClock()
  const store = options.store ?? createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const documents = options.documents ?? createPdfReader()
  const workspaces = options.workspaces ?? createMemoryWorkspaces({ blobs: store.blobs, createFiles: createMemoryFiles })
  const model = modelsFrom(options.model, { reader: documents })
  const settings = { priceOf: createPriceOf({ now: clock.now }), ...offlineSources(model), ...options.settings }
  return createAgentFrom({ bookkeeping, ...options, model, store, clock, documents, workspaces, settings })
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

/** Settings of an agent with the offline model. It answers from documents, so these must be citable. */
function offlineSources(model: AgentParts['model']): Pick<AgentSettings, 'sources'> | undefined {
  const { name } = 'stream' in model ? model : model.decision
  return name === 'offline' ? { sources: { eligibleMimes: documentEligibleMimes } } : undefined
}

/** Callbacks and tools of an agent, besides its settings. */
export type OpenOptions = Pick<AgentParts, 'onEntry' | 'onProblem' | 'tools'> & {
  /** How long a turn with a finished answer stays open for another message. */
  readonly exitGraceMs?: number
}

type StoreSettings = Pick<Settings, 'data' | 'store' | 'workspace' | 'workspaceRemote'>
type AgentConfiguration = StoreSettings & Pick<Settings, 'model' | 'tokenCounter' | 'budget'>

/** The agent that the settings describe. `close` releases everything that was opened for it. */
export async function openAgent(
  settings: AgentConfiguration,
  { exitGraceMs = 0, ...options }: OpenOptions = {},
): Promise<{ readonly agent: Agent; close(): Promise<void> }> {
  const documents = createPdfReader()
  const model = modelOf(settings.model, documents)
  const store = await openStore(settings)
  const agent = createAgentFrom({
    bookkeeping,
    ...options,
    model,
    store,
    clock: createSystemClock(),
    workspaces: await openWorkspaces(settings, store.blobs),
    hosting: openHosting(settings, store.blobs),
    documents,
    ...(settings.tokenCounter === 'o200k' && { tokens: await openTokenCounter() }),
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

/** Access to the conversations without an agent, for commands that run no turn and so need no model. */
export async function openArchive(settings: AgentConfiguration): Promise<{ readonly archive: Archive; close(): Promise<void> }> {
  const store = await openStore(settings)
  const clock = createSystemClock()
  const archive = createArchive({
    store,
    clock,
    owner: createOwner(clock),
    hosting: openHosting(settings, store.blobs),
    workspaces: await openWorkspaces(settings, store.blobs),
    agentParts: { settings: agentSettings(settings) },
    bookkeeping,
    publishEntry: () => {}, // no followers in this process
    announceDeleted: () => {},
    commitToRunning: async () => false, // no turns run in this process
  })
  return { archive, close: () => store.close() }
}

function agentSettings({ model, budget }: Pick<Settings, 'model' | 'budget'>): Partial<AgentSettings> {
  return {
    maxRounds: budget.rounds,
    maxMoney: budget.money,
    priceOf: createPriceOf({ now: createSystemClock().now }),
    // the offline model answers from documents, so they must be citable
    sources: model === 'offline' ? { eligibleMimes: documentEligibleMimes } : defaultAgentSettings.sources,
  }
}

/** A model by name, or a model object from a configuration file. */
function modelOf(choice: Settings['model'], reader: DocumentReader): Model {
  if (typeof choice === 'string') return modelFrom(choice, { reader })
  if ('stream' in choice || 'doStream' in choice) return modelFrom(choice as Model) // its methods are checked when they are called
  throw new Failure('model.unavailable', 'the setting model must be a name, a model of the AI SDK, or an object with a stream function')
}

async function openTokenCounter(): Promise<TokenCounter> {
  const { loadTokenCounter } = await import('./adapters/model/token-counter.ts') // loaded only when it is used: it takes 20 MB of memory
  return loadTokenCounter()
}

/** Where conversations are stored. */
export interface StoreOptions {
  /** A folder, created when it does not exist. Nothing is written to it when `store` is `memory`. */
  readonly data: string
  /** `sqlite` by default. */
  readonly store?: 'sqlite' | 'memory'
}

/**
 * The store of the settings. `sqlite`: a database file and a folder of blobs in `data`, created when they do not exist. `memory`: lost
 * when the process ends.
 */
export async function openStore(settings: StoreOptions): Promise<ConversationStore> {
  const clock = createSystemClock()
  if (settings.store === 'memory') return createMemoryStore({ blobs: createMemoryBlobs(), clock })
  try {
    makeFolder(settings.data)
  } catch (error) {
    const message = `conversations can not be stored in ${settings.data} (${errorMessage(error)}): choose another folder with --data`
    throw new Failure('store.failed', message, { cause: error })
  }
  const { createSqliteStore } = await import('./adapters/store/sqlite/store.ts') // agents in memory do not load it
  return createSqliteStore({ ...storePaths(settings), clock })
}

const storePaths = ({ data }: Pick<Settings, 'data'>) => ({
  file: join(data, 'daybook.db'),
  blobs: createFileBlobs({ folder: join(data, 'blobs') }),
})

/** The workspaces of all conversations: folders beside the store, or in memory. `blobs` are those of the store. */
export async function openWorkspaces(settings: StoreSettings, blobs: BlobStore): Promise<Workspaces> {
  const { data, store, workspace, workspaceRemote: remote } = settings
  if (store === 'memory') {
    if (workspace === 'git') throw new RangeError('workspace=git needs files on disk: set store=sqlite, or workspace=custom')
    return createMemoryWorkspaces({ blobs, createFiles: createMemoryFiles })
  }
  const root = resolve(data, 'workspaces')
  const folders = {
    openFiles: (folder: string) => createDiskFiles({ folder: join(root, folder) }),
    removeFiles: (folder: string) => rm(join(root, folder), { recursive: true, force: true }),
  }
  if (workspace === 'custom') return createCustomWorkspaces({ ...folders, blobs })
  const { createGitWorkspaces } = await import('./adapters/workspace/git/git.ts')
  return createGitWorkspaces({ ...folders, root, ...(remote !== undefined && { remote }) })
}

function openHosting({ data, store }: StoreSettings, blobs: BlobStore): Hosting {
  if (store === 'memory') return createHosting({ objects: createMemoryObjects(), blobs })
  return createHosting({ objects: createFileObjects({ files: createDiskFiles({ folder: join(data, 'hosted') }) }), blobs })
}

/** Prices and cache rules of the providers: the basis of cost and cache reports. */
export const bookkeeping = { rulesOf: cacheRulesOf, chargeOf: createChargeOf() }

/** A provider of named models, the environment variables that may hold its key, and whether it needs a key at all. */
export type ModelKey = Provider['key'] & { readonly provider: string }

/** The keys of all providers of named models. */
export const modelKeys: readonly ModelKey[] = Object.entries(providers).map(([provider, { key }]) => ({ provider, ...key }))

/** Number and total size of blobs that belong to no entry. */
export interface UnreferencedBlobs {
  readonly blobs: number
  readonly bytes: number
}

/**
 * How long a blob may exist before its entry. An upload is appended at once, but the results of a round are appended together and the
 * files of a turn at its end, so a blob of a running server may be hours old and needed. No turn takes a day.
 */
const UNREFERENCED_BLOB_GRACE_MS = 24 * 3_600_000

/** Counts blobs without an entry, which a process leaves behind when it dies. Changes nothing; undefined when there is no database. */
export async function findUnreferencedBlobs(
  settings: Pick<Settings, 'data'>,
): Promise<{ readonly old: UnreferencedBlobs; readonly young: UnreferencedBlobs } | undefined> {
  const { file, blobs } = storePaths(settings)
  if (!existsSync(file)) return undefined
  const { findUnreferenced } = await import('./adapters/store/sqlite/remove.ts')
  const stored = await blobs.list() // listed before the entries are read, so that an entry appended meanwhile is seen
  const before = Date.now() - UNREFERENCED_BLOB_GRACE_MS
  const unreferenced = Object.groupBy(findUnreferenced(file, stored), ({ putAt }) => (putAt < before ? 'old' : 'young'))
  return { old: countOf(unreferenced.old), young: countOf(unreferenced.young) }
}

/** Removes blobs that have had no entry for longer than the grace period. Safe while servers run. */
export async function sweepUnreferencedBlobs(settings: Pick<Settings, 'data'>): Promise<UnreferencedBlobs> {
  const { file, blobs } = storePaths(settings)
  if (!existsSync(file)) return countOf([])
  const { sweepUnreferenced, findUnreferenced } = await import('./adapters/store/sqlite/remove.ts')
  const before = Date.now() - UNREFERENCED_BLOB_GRACE_MS
  const old = (await blobs.list()).filter(({ putAt }) => putAt < before)
  const removed = await sweepUnreferenced(file, findUnreferenced(file, old), (sha256) => blobs.removeIfPutBefore(sha256, before))
  return countOf(removed)
}

const countOf = (blobs: readonly BlobRef[] = []): UnreferencedBlobs => ({
  blobs: blobs.length,
  bytes: blobs.reduce((sum, { size }) => sum + size, 0),
})

/** Loads the export `agent` of a module: an object, or a function that is called each time and returns one. */
export function loadAgentModule(
  file: string,
): () => Promise<Pick<AgentParts, 'tools' | 'builtIn' | 'instructions' | 'customisation' | 'settings' | 'tokens'>> {
  return async () => {
    const { agent } = (await import(pathToFileURL(resolve(file)).href)) as { agent?: unknown }
    const parts: unknown = typeof agent === 'function' ? await agent() : agent
    if (typeof parts === 'object' && parts !== null) return parts // its members are checked where they are used
    throw new RangeError(`${file} must export \`agent\`: an object with tools, instructions and settings, or a function that returns one`)
  }
}

/** The default export of a configuration file. */
export async function importConfiguration(file: string): Promise<unknown> {
  const module = (await import(pathToFileURL(file).href)) as { readonly default?: unknown }
  return module.default
}
