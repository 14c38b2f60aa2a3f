import { setImmediate as pause } from 'node:timers/promises'
import { Failure } from '../../../../core/failure.ts'
import { conversationKeyFilter } from '../../../../core/scope.ts'
import type { MemoryFilter, MemoryIndex, MemoryMatch, MemoryScope } from '../../../../ports/store/memory-index.ts'
import { createDocumentCache, type Documents, isDescribed } from './documents.ts'
import { acceptedBy, type DocumentFilter } from './ranking.ts'
import { inBatches, searchIndex } from './search.ts'
import { type Answer, answered, type Steps } from './steps.ts'
import { folderOf, type IndexReader, type Owner, type PlacedSnippet, roleIds } from './tables.ts'
import { createSimilar, VECTORS_PER_STEP } from './vectors.ts'
import { secondsOf } from './write.ts'

/** How often a search is tried at most while the index lacks entries. */
const MAX_ATTEMPTS = 3

interface IndexParts {
  /** Runs `work` on one snapshot of the tables. */
  read<T>(work: (tables: IndexReader) => Steps<T>): Answer<T>
  readonly catchUp: MemoryIndex['catchUp']
  readonly vectors: MemoryIndex['vectors']
}

/** The memory index of a store. The stores that search with this code pass their own tables. */
export function createMemoryIndex({ read, catchUp, vectors }: IndexParts): MemoryIndex {
  const documentCache = createDocumentCache()

  /**
   * Runs `work` with the documents of an owner. If `work` reads a snippet that its document does not describe, it runs once more, with
   * documents that are read again. `work` calls `skips` for each snippet that it reads.
   */
  function* withDocuments<T>(
    tables: IndexReader,
    { owner }: ResolvedScope,
    filter: MemoryFilter,
    work: (documents: Documents, skips: (snippet: PlacedSnippet) => boolean) => Steps<T>,
  ): Steps<T> {
    const skips = skippedBy(filter)
    for (let isFirst = true; ; isFirst = false) {
      let isOutdated = false
      const documents = yield* documentCache.read(tables, owner)
      const result = yield* work(documents, (snippet) => {
        if (isDescribed(documents, snippet)) return skips(snippet)
        isOutdated = true
        return true
      })
      if (!isOutdated || !isFirst) return result
      documentCache.forget(owner)
    }
  }

  /** The snippets with the most similar vectors. The vectors are compared in steps, because comparing all of them may take long. */
  async function findSimilar(filter: MemoryFilter): Promise<readonly number[]> {
    if (!filter.vector) return []
    const { model, values } = filter.vector
    const similar = createSimilar(values)
    for (let from: number | undefined = 0; from !== undefined; await pause()) {
      const first: number = from
      from = await read(function* (tables): Steps<number | undefined> {
        const within = yield* resolveScope(tables, filter.within)
        if (!within) return undefined
        const some = yield* answered(tables.vectors(within.owner.key, model, first, VECTORS_PER_STEP))
        const documents = yield* documentCache.read(tables, within.owner)
        const accepts = acceptedBy(documents, documentFilter(filter, within))
        similar.add(some, (number) => number < documents.next && accepts(number))
        return some.length < VECTORS_PER_STEP ? undefined : (some.at(-1)?.number ?? 0) + 1
      })
    }
    return similar.numbers()
  }

  /**
   * Indexes new entries before a search. In a search over several conversations, a conversation that can not be read is left out. The error
   * is reported when the conversation is loaded. Returns whether all conversations could be read.
   */
  async function catchUpFor(filter: MemoryFilter): Promise<boolean> {
    try {
      await catchUp(filter)
      return true
    } catch (error) {
      if ('conversationId' in filter.within || !isUnreadable(error)) throw error
      return false
    }
  }

  /**
   * Indexes new entries and runs `work` on a snapshot. If the index lacks entries in this snapshot, both are repeated: when an older version
   * of Daybook deletes a conversation, the index of the whole user is removed, and this may happen after the entries were indexed.
   */
  async function whenIndexed<Prepared, T>(
    filter: MemoryFilter,
    prepare: () => Promise<Prepared>,
    work: (tables: IndexReader, prepared: Prepared) => Steps<T>,
  ): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const mayRepeat = (await catchUpFor(filter)) && attempt < MAX_ATTEMPTS
      const prepared = await prepare()
      const found = await read(function* (tables): Steps<{ readonly result: T } | undefined> {
        const isBehind = mayRepeat && !filter.signal?.aborted ? tables.isBehind?.(filter.within) : undefined
        if (isBehind !== undefined && (yield* answered(isBehind))) return undefined
        return { result: yield* work(tables, prepared) }
      })
      if (found) return found.result
    }
  }

  return {
    search(question, filter) {
      const similarTo = () => findSimilar(filter)
      return whenIndexed(filter, similarTo, function* (tables, similar): Steps<readonly MemoryMatch[]> {
        const within = yield* resolveScope(tables, filter.within)
        if (!within) return []
        const search = {
          question,
          filter: documentFilter(filter, within),
          similar,
          now: secondsOf(filter.now),
          limit: filter.limit,
          perConversation: filter.perConversation ?? Number.POSITIVE_INFINITY,
        }
        const found = yield* withDocuments(tables, within, filter, (documents, skips) =>
          searchIndex(tables, within.owner, documents, { ...search, skips }),
        )
        return found.flatMap(({ snippet, score }) => matchOf(snippet, score))
      })
    },

    list(filter) {
      const nothing = async () => undefined
      return whenIndexed(filter, nothing, function* (tables): Steps<readonly MemoryMatch[]> {
        const within = yield* resolveScope(tables, filter.within)
        if (!within) return []
        const { ordinal } = filter
        const listed =
          ordinal !== undefined && within.conversation !== undefined
            ? yield* snippetsOfTurn(tables, within.conversation, ordinal, skippedBy(filter))
            : yield* withDocuments(tables, within, filter, (...given) => snippetsInPeriod(tables, within, filter, ...given))
        return listed.flatMap((snippet) => matchOf(snippet, 1))
      })
    },

    catchUp,
    vectors,
  }
}

const isUnreadable = (error: unknown): boolean =>
  error instanceof Failure && (error.code === 'store.damaged' || error.code === 'blob.missing' || error.code === 'blob.damaged')

interface ResolvedScope {
  readonly owner: Owner
  /** The key of the conversation, if only one conversation is searched. */
  readonly conversation?: number
}

function* resolveScope(tables: IndexReader, scope: MemoryScope): Steps<ResolvedScope | undefined> {
  const owner = yield* answered(tables.findOwner(folderOfScope(scope)))
  if (!owner || !('conversationId' in scope)) return owner && { owner }
  const conversation = yield* answered(tables.conversationKey(scope.conversationId))
  return conversation === undefined ? undefined : { owner, conversation }
}

/** The folder of the conversations in a scope. */
export function folderOfScope(scope: MemoryScope): string {
  if ('conversationId' in scope) return folderOf(scope.conversationId)
  const keys = conversationKeyFilter(scope.user)
  return 'prefix' in keys ? keys.prefix : ''
}

const documentFilter = ({ targets, from, to }: MemoryFilter, { conversation }: Pick<ResolvedScope, 'conversation'>): DocumentFilter => ({
  roles: targets.reduce((bits, target) => bits | (1 << roleIds[target]), 0),
  from: from === undefined ? 0 : secondsOf(from),
  to: to === undefined ? Number.POSITIVE_INFINITY : Math.ceil(Date.parse(to) / 1_000),
  ...(conversation !== undefined && { conversation: conversation >>> 0 }), // documents have the lowest 32 bits of the key
})

/** Whether the filter accepts a snippet. `documentFilter` compares only full seconds, so the exact times are compared here. */
const isListed =
  ({ targets, from = '', to }: MemoryFilter) =>
  ({ role, ts }: PlacedSnippet): boolean =>
    targets.includes(role) && ts >= from && (to === undefined || ts < to)

function skippedBy(filter: MemoryFilter): (snippet: PlacedSnippet) => boolean {
  const { within, except, withLookups = false } = filter
  const isMeant = isListed(filter)
  return (snippet) =>
    !isMeant(snippet) ||
    ('conversationId' in within && snippet.conversationId !== within.conversationId) ||
    (snippet.conversationId === except?.conversationId && snippet.turnId === except?.turnId) ||
    (!withLookups && snippet.isLookup)
}

function matchOf({ conversationId, turnId, ts, role, path, text }: PlacedSnippet, score: number): readonly MemoryMatch[] {
  if (conversationId === undefined) return [] // the deletion of the conversation has begun
  return [{ conversationId, turnId, ts, role, path, text, score: Math.round(score * 10_000) / 10_000 }]
}

/** The snippets of one turn. A turn whose ordinal is not a positive integer does not exist. */
function* snippetsOfTurn(
  tables: IndexReader,
  conversation: number,
  ordinal: number,
  skips: (snippet: PlacedSnippet) => boolean,
): Steps<readonly PlacedSnippet[]> {
  if (!Number.isSafeInteger(ordinal) || ordinal < 1) return []
  return (yield* answered(tables.snippetsOfTurn(conversation, ordinal))).filter((snippet) => !skips(snippet))
}

/** The first snippets of the turns in a period. The texts are read in batches, until there are enough turns. */
function* snippetsInPeriod(
  tables: IndexReader,
  { owner, conversation }: ResolvedScope,
  filter: MemoryFilter & { readonly order?: 'oldest' | 'newest' },
  documents: Documents,
  skips: (snippet: PlacedSnippet) => boolean,
): Steps<readonly PlacedSnippet[]> {
  const accepts = acceptedBy(documents, documentFilter(filter, { ...(conversation !== undefined && { conversation }) }))
  const found: { readonly number: number; readonly seconds: number }[] = []
  for (const [number, seconds] of documents.seconds.entries()) if (accepts(number)) found.push({ number, seconds })
  const sign = filter.order === 'newest' ? -1 : 1
  found.sort((a, b) => sign * (a.seconds - b.seconds) || sign * (a.number - b.number))
  const turns = new Map<string, PlacedSnippet>()
  for (const some of inBatches(found, 2 * filter.limit)) {
    const numbers = some.map(({ number }) => number)
    const snippets = new Map((yield* answered(tables.snippets(owner.key, numbers))).map((snippet) => [snippet.number, snippet]))
    for (const number of numbers) {
      const snippet = snippets.get(number)
      if (!snippet || skips(snippet)) continue
      const turn = `${snippet.conversation} ${snippet.turnId}`
      if (!turns.has(turn)) turns.set(turn, snippet)
      if (turns.size === filter.limit) return [...turns.values()]
    }
  }
  return [...turns.values()]
}
