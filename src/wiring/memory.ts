import { existsSync } from 'node:fs'
import { type EmbeddingChoice, embedderFrom } from '../adapters/model/embedding.ts'
import type { NamedModelOptions } from '../adapters/model/model-from.ts'
import type { AgentParts } from '../agent/agent.ts'
import type { Settings } from '../config/settings.ts'
import { Failure } from '../core/failure.ts'
import type { Clock } from '../ports/clock.ts'
import type { ConversationStore } from '../ports/store.ts'
import type { MemorySearch } from '../tools/react/memsearch.ts'
import { createMemorySearch } from '../tools/recall/memory-search.ts'
import { startVectors, type VectorMaker } from '../tools/recall/vectors.ts'
import type { StoreSettings } from './storage.ts'

/** The option of the built-in tools that says what `react.memsearch` searches. */
interface MemoryOption {
  readonly memory?: MemorySearch | false
}

type MemorySettings = Partial<Pick<Settings, 'memorySearch'>>

/** The search in the memory index of a store. Empty if the store has no index, or if the settings turn the search off. */
export function memoryOption(
  { memory }: Pick<ConversationStore, 'memory'>,
  clock: Pick<Clock, 'now'>,
  { memorySearch = 'on' }: MemorySettings = {},
  vectors?: VectorMaker,
): MemoryOption {
  return memory && memorySearch === 'on' ? { memory: createMemorySearch(memory, clock, vectors) } : {}
}

/** The embedding model of the settings. Undefined if no embedding model is set, or if the search is off. */
export function embeddingOf({
  memorySearch = 'on',
  embedding,
}: Partial<Pick<Settings, 'memorySearch' | 'embedding'>>): EmbeddingChoice | undefined {
  if (memorySearch === 'off' || embedding === undefined) return undefined
  if (typeof embedding === 'string' || 'doEmbed' in embedding || 'embed' in embedding) return embedding as EmbeddingChoice
  throw new Failure(
    'model.unavailable',
    'the setting embedding must be a name, an embedding model of the AI SDK, or an object with `embed`',
  )
}

/** Describes for `daybook doctor` how many texts have a vector of the embedding model. Throws if this model can not be used. */
export async function describeVectors(
  settings: StoreSettings & Partial<Pick<Settings, 'memorySearch' | 'embedding'>>,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const choice = embeddingOf(settings)
  if (choice === undefined) return 'compares only words; set embedding to also compare meanings'
  const { name } = embedderFrom(choice, { environment })
  if (!(await hasStored(settings))) return `${name}, nothing stored yet`
  const { openStorage } = await import('./storage.ts') // imported on demand, because only `daybook doctor` needs it
  const { store } = await openStorage(settings)
  try {
    const progress = await store.memory?.vectors.progress()
    if (progress?.name !== name) return `${name}, no vectors yet: a running agent makes them`
    return `${name}, ${progress.done} of ${progress.all} texts have a vector with ${progress.dimensions} numbers`
  } finally {
    await store.close()
  }
}

/** Whether there is a data folder, or a database with tables. Nothing is created. */
async function hasStored(settings: StoreSettings): Promise<boolean> {
  if (settings.databaseUrl === undefined) return existsSync(settings.data)
  const { describePostgres } = await import('../adapters/store/postgres/store.ts')
  const { databaseOptions } = await import('./store.ts')
  return (await describePostgres(databaseOptions(settings, settings.databaseUrl))).tables > 0
}

/** Makes vectors in the background, if an embedding model is chosen and the store has an index. */
export function startVectorsOf(
  { memory }: Pick<ConversationStore, 'memory'>,
  choice: EmbeddingChoice | undefined,
  onProblem: AgentParts['onProblem'],
  options: Pick<NamedModelOptions, 'environment'> = {},
): VectorMaker | undefined {
  if (choice === undefined) return undefined
  const embedder = embedderFrom(choice, options)
  return memory && startVectors(memory.vectors, embedder, (error) => onProblem?.({ where: 'memory vectors', error }))
}

/** The option for a replay. The search tool is never called in a replay, but the system text must contain it. */
export const replayedMemory = ({ memorySearch = 'on' }: MemorySettings = {}): MemoryOption =>
  memorySearch === 'on' ? { memory: { search: () => Promise.reject(new Error('a replay does not search')) } } : {}

/**
 * Indexes conversations that an older version of Daybook has stored. This runs in the background until the returned function is called. A
 * search does not depend on this: it first indexes the conversations that it searches.
 */
export function startCatchUp({ memory }: Pick<ConversationStore, 'memory'>, onError: (error: unknown) => void): () => Promise<void> {
  const ending = new AbortController()
  const work = memory?.catchUp({ signal: ending.signal }).catch((error: unknown) => {
    if (!ending.signal.aborted) onError(error)
  })
  return async () => {
    ending.abort()
    await work
  }
}
