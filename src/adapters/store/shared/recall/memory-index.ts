import { setImmediate as pause } from 'node:timers/promises'
import { Failure } from '../../../../core/failure.ts'
import { conversationKeyFilter } from '../../../../core/scope.ts'
import type { MemoryFilter, MemoryIndex, MemoryMatch, MemoryScope } from '../../../../ports/store/memory-index.ts'
import { createDocumentCache, type Documents } from './documents.ts'
import { acceptedBy, type DocumentFilter } from './ranking.ts'
import { searchIndex } from './search.ts'
import { folderOf, type IndexReader, type Owner, roleIds, type StoredSnippet } from './tables.ts'
import { createSimilar, VECTORS_PER_STEP } from './vectors.ts'
import { secondsOf } from './write.ts'

interface IndexParts {
  /** Runs `work` on one snapshot of the tables. */
  read<T>(work: (tables: IndexReader) => T): T
  readonly catchUp: MemoryIndex['catchUp']
  readonly vectors: MemoryIndex['vectors']
}

/** The memory index of a store. The stores that search with this code pass their own tables. */
export function createMemoryIndex({ read, catchUp, vectors }: IndexParts): MemoryIndex {
  const documentsOf = createDocumentCache()

  /** The snippets with the most similar vectors. The vectors are compared in steps, because comparing all of them may take long. */
  async function findSimilar(filter: MemoryFilter): Promise<readonly number[]> {
    if (!filter.vector) return []
    const { model, values } = filter.vector
    const similar = createSimilar(values)
    for (let from: number | undefined = 0; from !== undefined; await pause()) {
      const first: number = from
      from = read((tables) => {
        const within = resolveScope(tables, filter.within)
        if (!within) return undefined
        const some = tables.vectors(within.owner.key, model, first, VECTORS_PER_STEP)
        const documents = documentsOf(tables, within.owner)
        const accepts = acceptedBy(documents, documentFilter(filter, within))
        similar.add(some, (number) => number < documents.next && accepts(number))
        return some.length < VECTORS_PER_STEP ? undefined : (some.at(-1)?.number ?? 0) + 1
      })
    }
    return similar.numbers()
  }

  /**
   * Indexes new entries before a search. In a search over several conversations, a conversation that can not be read is left out. The error
   * is reported when the conversation is loaded.
   */
  async function catchUpFor(filter: MemoryFilter): Promise<void> {
    try {
      await catchUp(filter)
    } catch (error) {
      if ('conversationId' in filter.within || !isUnreadable(error)) throw error
    }
  }

  return {
    async search(question, filter) {
      await catchUpFor(filter)
      const similar = await findSimilar(filter)
      return read((tables) => {
        const within = resolveScope(tables, filter.within)
        if (!within) return []
        const found = searchIndex(tables, within.owner, documentsOf(tables, within.owner), {
          question,
          filter: documentFilter(filter, within),
          similar,
          now: secondsOf(filter.now),
          limit: filter.limit,
          perConversation: filter.perConversation ?? Number.POSITIVE_INFINITY,
          skips: skippedBy(tables, filter),
        })
        return found.flatMap(({ snippet, score }) => matchOf(tables, snippet, score))
      })
    },

    async list(filter) {
      await catchUpFor(filter)
      return read((tables) => {
        const within = resolveScope(tables, filter.within)
        if (!within) return []
        const skips = skippedBy(tables, filter)
        const listed =
          filter.ordinal !== undefined && within.conversation !== undefined
            ? tables.snippetsOfTurn(within.conversation, filter.ordinal).filter(isListed(filter))
            : snippetsInPeriod(tables, within, documentsOf(tables, within.owner), filter, skips)
        return listed.filter((snippet) => !skips(snippet)).flatMap((snippet) => matchOf(tables, snippet, 1))
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

function resolveScope(tables: IndexReader, scope: MemoryScope): ResolvedScope | undefined {
  const owner = tables.findOwner(folderOfScope(scope))
  if (!owner || !('conversationId' in scope)) return owner && { owner }
  const conversation = tables.conversationKey(scope.conversationId)
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
  ...(conversation !== undefined && { conversation }),
})

/** Whether the filter accepts a snippet. `documentFilter` compares only full seconds, so the exact times are compared here. */
const isListed =
  ({ targets, from = '', to }: MemoryFilter) =>
  ({ role, ts }: StoredSnippet): boolean =>
    targets.includes(role) && ts >= from && (to === undefined || ts < to)

function skippedBy(tables: IndexReader, filter: MemoryFilter): (snippet: StoredSnippet) => boolean {
  const { except, withLookups = false } = filter
  const searching = except && tables.conversationKey(except.conversationId)
  const isMeant = isListed(filter)
  return (snippet) =>
    !isMeant(snippet) ||
    (snippet.conversation === searching && snippet.turnId === except?.turnId) ||
    (!withLookups && tables.isLookup(snippet.conversation, snippet.turnId))
}

function matchOf(tables: IndexReader, snippet: StoredSnippet, score: number): readonly MemoryMatch[] {
  const conversationId = tables.conversationId(snippet.conversation)
  if (conversationId === undefined) return [] // the deletion of the conversation has begun
  const { turnId, ts, role, path, text } = snippet
  return [{ conversationId, turnId, ts, role, path, text, score: Math.round(score * 10_000) / 10_000 }]
}

/** The first snippets of the turns in a period. The texts are read only for the snippets that are returned. */
function snippetsInPeriod(
  tables: IndexReader,
  { owner, conversation }: ResolvedScope,
  documents: Documents,
  filter: MemoryFilter & { readonly order?: 'oldest' | 'newest' },
  skips: (snippet: StoredSnippet) => boolean,
): readonly StoredSnippet[] {
  const accepts = acceptedBy(documents, documentFilter(filter, { ...(conversation !== undefined && { conversation }) }))
  const found: { readonly number: number; readonly seconds: number }[] = []
  for (const [number, seconds] of documents.seconds.entries()) if (accepts(number)) found.push({ number, seconds })
  const sign = filter.order === 'newest' ? -1 : 1
  found.sort((a, b) => sign * (a.seconds - b.seconds) || sign * (a.number - b.number))
  const turns = new Map<string, StoredSnippet>()
  for (const { number } of found) {
    const snippet = tables.snippet(owner.key, number)
    if (!snippet || skips(snippet)) continue
    const turn = `${snippet.conversation} ${snippet.turnId}`
    if (!turns.has(turn)) turns.set(turn, snippet)
    if (turns.size === filter.limit) break
  }
  return [...turns.values()]
}
