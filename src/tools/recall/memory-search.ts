import { cutBetween } from '../../core/cut.ts'
import { formatPath, parsePath } from '../../core/path/logical.ts'
import { wordsOf } from '../../core/recall/terms.ts'
import { parseConversationKey } from '../../core/scope.ts'
import type { Clock } from '../../ports/clock.ts'
import type { MemoryFilter, MemoryIndex, MemoryMatch } from '../../ports/store/memory-index.ts'
import type { MemoryFindings, MemoryHit, MemoryQuery, MemorySearch } from '../react/memsearch.ts'
import type { VectorMaker } from './vectors.ts'

const DAY_MS = 24 * 3_600_000
/** How much of a text a hit shows, and how much of it comes before the first matching word. */
const [SHOWN, BEFORE] = [480, 120]
/** In a search over all conversations of a user, one conversation has at most this many hits. */
const HITS_PER_CONVERSATION = 2
/** How long a search waits for conversations that are not indexed yet. After this time it searches the index as it is. */
const CATCH_UP_MS = 2_000

/** How long a search waits for the vector of its question. After this time it compares only words. */
const VECTOR_MS = 5_000

/** Searches the memory index of a store. Only conversations of the same tenant, project and user are searched. */
export function createMemorySearch(index: MemoryIndex, clock: Pick<Clock, 'now'>, vectors?: Pick<VectorMaker, 'ofQuestion'>): MemorySearch {
  /** The vector of the question. If the model does not answer, the search compares words only. */
  async function vectorOf(
    { query, ordinal }: Pick<MemoryQuery, 'query' | 'ordinal'>,
    signal: AbortSignal,
  ): Promise<Pick<MemoryFilter, 'vector'> | 'failed'> {
    if (!vectors || query === undefined || ordinal !== undefined) return {}
    try {
      const vector = await vectors.ofQuestion(query, AbortSignal.any([signal, AbortSignal.timeout(VECTOR_MS)]))
      return vector ? { vector } : {}
    } catch {
      signal.throwIfAborted()
      return 'failed' // the result has a warning
    }
  }

  return {
    ...(vectors && {
      async vectorOf(question: string) {
        const vector = await vectorOf({ query: question }, new AbortController().signal) // waits for at most `VECTOR_MS`
        return vector === 'failed' ? undefined : vector.vector
      },
    }),
    async search(query, { conversationId, scope, origin, signal }): Promise<MemoryFindings> {
      const within = query.scope === 'user' ? { user: scope } : { conversationId }
      const vector = await vectorOf(query, signal)
      const limit = AbortSignal.timeout(CATCH_UP_MS)
      const filter: MemoryFilter = {
        within,
        targets: query.targets,
        now: clock.now(),
        from: isoOf(Math.max(Date.parse(clock.now()) - query.days * DAY_MS, query.from === undefined ? 0 : Date.parse(query.from))),
        ...(query.to !== undefined && { to: isoOf(Date.parse(query.to)) }),
        except: { conversationId, turnId: origin.turnId },
        withLookups: query.withLookups === true,
        limit: query.topK,
        signal: AbortSignal.any([signal, limit]),
        ...(vector !== 'failed' && vector),
        ...(query.scope === 'user' && { perConversation: HITS_PER_CONVERSATION }),
      }
      const matches = await findMatches(index, query, filter)
      const warnings = [
        ...(vector === 'failed' ? ['The embedding model did not answer, so only words were compared.'] : []),
        ...(vector !== 'failed' && !vector.vector && hasNoTerms(query)
          ? ['The query has only common words, which are not looked for. Name a person, a thing or a rare word.']
          : []),
        ...(limit.aborted ? ['Older conversations are still being indexed. Search again later to find more.'] : []),
        ...(query.ordinal !== undefined && query.query !== undefined ? ['The query was not used, because `ordinal` names a turn.'] : []),
      ]
      return { hits: matches.map((match) => hitOf(match, query, conversationId)), warnings }
    },
  }
}

const hasNoTerms = ({ query, ordinal }: MemoryQuery): boolean =>
  query !== undefined && ordinal === undefined && wordsOf(query).every(({ terms }) => terms.length === 0)

function findMatches(index: MemoryIndex, query: MemoryQuery, filter: MemoryFilter): Promise<readonly MemoryMatch[]> {
  if (query.query !== undefined && query.ordinal === undefined) return index.search(query.query, filter)
  return index.list({
    ...filter,
    ...(query.ordinal !== undefined && { ordinal: query.ordinal }),
    order: query.order ?? (query.from === undefined && query.to === undefined ? 'newest' : 'oldest'),
  })
}

const [FIRST_TIME, LAST_TIME] = [Date.parse('0000-01-01T00:00:00.000Z'), Date.parse('9999-12-31T23:59:59.999Z')]

/**
 * A time as ISO 8601. A time outside of the years 0000 to 9999 is replaced by the first or last time of this range, because times are
 * compared as texts.
 */
const isoOf = (time: number): string => new Date(Math.min(LAST_TIME, Math.max(FIRST_TIME, time))).toISOString()

function hitOf({ turnId, ts, score, role, path, text, conversationId }: MemoryMatch, { query }: MemoryQuery, own: string): MemoryHit {
  const shown = conversationId === own ? path : pathIn(path, conversationId)
  return { turn_id: turnId, ts, score, role, path: shown, text: passageOf(text, query ?? '') }
}

/** The path of content in another conversation, with the name of that conversation added. */
function pathIn(path: string, conversationId: string): string {
  const parsed = parsePath(path)
  const { name } = parseConversationKey(conversationId)
  return parsed === undefined || parsed.space === 'ks' || parsed.space === 'sk' ? path : formatPath({ ...parsed, conversationId: name })
}

/** The part of a text with most of the words of the question. */
function passageOf(text: string, question: string): string {
  if (text.length <= SHOWN) return text
  const wanted = new Set(wordsOf(question).flatMap(({ terms }) => terms))
  const places = wordsOf(text).flatMap(({ at, terms }) => terms.filter((term) => wanted.has(term)).map((term) => ({ at, term })))
  let best = { from: 0, count: 0 }
  for (const [first, { at: from }] of places.entries()) {
    const seen = new Set<string>()
    for (let at = first; at < places.length && (places[at]?.at ?? 0) < from + SHOWN - BEFORE; at++) seen.add(places[at]?.term ?? '')
    if (seen.size > best.count) best = { from: Math.max(0, from - BEFORE), count: seen.size }
  }
  return cutBetween(text, best.from, best.from + SHOWN)
}
