import { mkdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createFileBlobs } from './adapters/blobs/file.ts'
import { createMemoryBlobs } from './adapters/blobs/memory.ts'
import { createSystemClock } from './adapters/clock/system.ts'
import { createPdfReader } from './adapters/documents/pdf.ts'
import { createDiskFiles } from './adapters/files/disk.ts'
import { createMemoryFiles } from './adapters/files/memory.ts'
import { cacheRulesOf } from './adapters/model/cache-rules.ts'
import { type ModelChoice, modelFrom } from './adapters/model/model-from.ts'
import { createChargeOf, createPriceOf } from './adapters/model/prices.ts'
import { createMemoryStore } from './adapters/store/memory.ts'
import { createCustomWorkspaces } from './adapters/workspace/custom.ts'
import { createMemoryWorkspaces } from './adapters/workspace/memory.ts'
import { type Agent, type AgentParts, createAgentFrom } from './agent/agent.ts'
import type { Settings } from './config.ts'
import type { BlobStore } from './ports/blobs.ts'
import type { ModelRole } from './ports/model.ts'
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
  const settings = { priceOf: createPriceOf({ now: clock.now }), ...options.settings }
  return createAgentFrom({ bookkeeping, ...options, model: modelsFrom(options.model), store, clock, documents, workspaces, settings })
}

function modelsFrom(choice: AgentOptions['model']): AgentParts['model'] {
  if (typeof choice === 'string' || 'stream' in choice || 'doStream' in choice) return modelFrom(choice)
  const { decision, gate, compaction } = choice
  return {
    decision: modelFrom(decision),
    ...(gate !== undefined && { gate: modelFrom(gate) }),
    ...(compaction !== undefined && { compaction: modelFrom(compaction) }),
  }
}

/** The embedded store: one SQLite file and a folder of blobs, made when they are not there. */
export async function openStore(settings: Pick<Settings, 'data'>): Promise<ConversationStore> {
  await mkdir(settings.data, { recursive: true, mode: 0o700 })
  const { createSqliteStore } = await import('./adapters/store/sqlite.ts') // most agents are made without it
  const blobs = createFileBlobs({ folder: join(settings.data, 'blobs') })
  return createSqliteStore({ file: join(settings.data, 'daybook.db'), blobs, clock: createSystemClock() })
}

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
  const { createGitWorkspaces } = await import('./adapters/workspace/git.ts')
  const { workspaceRemote: remote } = settings
  return createGitWorkspaces({ ...folders, root, ...(remote !== undefined && { remote }) })
}

/** What providers charge and how they cache: what the ledgers reckon with. */
export const bookkeeping = { rulesOf: cacheRulesOf, chargeOf: createChargeOf() }

/** The agent that a module exports, made anew each time it is asked for. */
export function agentIn(
  file: string,
): () => Promise<Pick<AgentParts, 'tools' | 'builtIn' | 'instructions' | 'customisation' | 'settings' | 'tokens'>> {
  return async () => {
    const { agent } = (await import(pathToFileURL(resolve(file)).href)) as { agent?: unknown }
    const made: unknown = typeof agent === 'function' ? await agent() : agent
    if (typeof made === 'object' && made !== null) return made // what it holds is looked at when it is used
    throw new RangeError(`${file} must export \`agent\`: an object with tools, instructions and settings, or a function that makes one`)
  }
}
