import type { MemoryTarget } from '../../../../core/recall/snippets.ts'
import {
  type DocumentRow,
  type IndexReader,
  isLookupUse,
  type Owner,
  type PlacedSnippet,
  POSTING_BYTES,
  type PostingRow,
  type StoredSnippet,
} from '../../shared/recall/tables.ts'
import type { StoredVector } from '../../shared/recall/vectors.ts'
import { isStorableId } from '../conversation-columns.ts'
import type { Queries } from '../database.ts'
import { isBehind } from './behind.ts'

/** A row of `memory_snippets`. `turn`, `path` and `body` are JSON texts, because PostgreSQL can not store the character U+0000. */
export interface SnippetRow {
  readonly owner: number
  readonly number: number
  readonly conversation: number
  readonly block: number
  readonly part: number
  readonly seq: number
  readonly turn: string
  readonly role: MemoryTarget
  readonly ts: string
  readonly path: string
  readonly body: string
}

/**
 * How many snippets the postings of a row cover. Fewer than in SQLite, because PostgreSQL writes a whole row again, also to its
 * write-ahead log, when postings are added to it.
 */
export const CHUNK = 512

/** The columns of a snippet, in the order in which they are inserted. */
export const SNIPPET_COLUMNS = ['owner', 'number', 'conversation', 'block', 'part', 'seq', 'turn', 'role', 'ts', 'path', 'body'] as const

export const parseSnippet = ({ turn, path, body, ...row }: SnippetRow): StoredSnippet => ({
  ...row,
  // only Daybook writes these columns
  turnId: JSON.parse(turn) as string,
  path: JSON.parse(path) as string,
  text: JSON.parse(body) as string,
})

interface PlacedRow extends SnippetRow {
  readonly conversation_id: string | null
  readonly uses: number | null
}

const parsePlaced = ({ conversation_id, uses, ...row }: PlacedRow): PlacedSnippet => ({
  ...parseSnippet(row),
  conversationId: conversation_id ?? undefined,
  isLookup: isLookupUse(uses),
})

/**
 * SQL that selects snippets with their conversation, unless its deletion has begun, and with what their turn did. `found` selects the
 * snippets. `LIMIT 1` keeps PostgreSQL from planning the look-ups as joins, whose plans would depend on statistics.
 */
const placed = (found: string): string =>
  `SELECT ${SNIPPET_COLUMNS.map((column) => `found.${column}`).join(', ')}, place.id AS conversation_id, did.uses FROM (${found}) AS found
   LEFT JOIN LATERAL (SELECT id FROM conversations WHERE key = found.conversation AND deleted_at IS NULL LIMIT 1) AS place ON true
   LEFT JOIN LATERAL (
     SELECT uses FROM memory_turns WHERE conversation = found.conversation AND turn_hash = sha256(convert_to(found.turn, 'UTF8')) LIMIT 1
   ) AS did ON true`

const SNIPPETS = placed(
  `SELECT snippet.* FROM unnest($2::int[]) AS wanted (number),
   LATERAL (SELECT * FROM memory_snippets WHERE owner = $1 AND number = wanted.number LIMIT 1) AS snippet`,
)

const SNIPPETS_OF_TURN = `${placed(
  `SELECT snippet.* FROM (SELECT turn FROM memory_turns WHERE conversation = $1 ORDER BY seq, turn LIMIT 1 OFFSET $2) AS wanted,
   LATERAL (SELECT * FROM memory_snippets WHERE conversation = $1 AND turn = wanted.turn OFFSET 0) AS snippet`,
)} ORDER BY block, part`

/** The length of the rows is known without reading their bytes, so terms that are too frequent cost little. */
const POSTINGS = `
  SELECT wanted.term, list.chunk, list.body FROM unnest($2::bigint[], $3::float8[]) AS wanted (term, at_most),
  LATERAL (
    SELECT chunk, body, sum(octet_length(body)) OVER () AS bytes FROM memory_postings WHERE owner = $1 AND term = wanted.term
  ) AS list
  WHERE at_most IS NULL OR bytes <= at_most * ${POSTING_BYTES} ORDER BY wanted.term, list.chunk`

/** Reads the tables of the memory index. */
export function createIndexReader({ all }: Pick<Queries, 'all'>): IndexReader {
  return {
    chunk: CHUNK,
    async findOwner(folder) {
      if (!isStorableId(folder)) return undefined
      return (await all<Owner>('SELECT key, folder, next, snippets FROM memory_owners WHERE folder = $1', [folder]))[0]
    },
    postings: ({ key }, terms) =>
      all<PostingRow>(POSTINGS, [key, terms.map(({ term }) => term), terms.map(({ atMost }) => atMost ?? null)]),
    documents: (key, from) =>
      all<DocumentRow>('SELECT "group", body FROM memory_documents WHERE owner = $1 AND "group" >= $2 ORDER BY "group"', [key, from]),
    snippets: async (key, numbers) => (await all<PlacedRow>(SNIPPETS, [key, numbers])).map(parsePlaced),
    vectors: (key, model, from, limit) =>
      all<StoredVector>(
        'SELECT number, body FROM memory_vectors WHERE owner = $1 AND number >= $3 AND model = $2 ORDER BY owner, number LIMIT $4',
        [key, model, from, limit],
      ),
    snippetsOfTurn: async (conversation, ordinal) => (await all<PlacedRow>(SNIPPETS_OF_TURN, [conversation, ordinal - 1])).map(parsePlaced),
    async conversationKey(id) {
      if (!isStorableId(id)) return undefined
      return (await all<{ key: number }>('SELECT key FROM conversations WHERE id = $1 AND deleted_at IS NULL', [id]))[0]?.key
    },
    isBehind: (scope) => isBehind({ all }, scope),
  }
}
