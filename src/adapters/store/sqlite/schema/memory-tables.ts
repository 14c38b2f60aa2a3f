import type { MemoryTarget } from '../../../../core/recall/snippets.ts'
import type { SnippetText } from '../../../../ports/store/memory-index.ts'
import {
  type DocumentRow,
  type IndexReader,
  type IndexWriter,
  isLookupUse,
  type Owner,
  type PlacedSnippet,
  POSTING_BYTES,
  type PostingRow,
  partKey,
  type StoredSnippet,
  usesOf,
} from '../../shared/recall/tables.ts'
import type { StoredModel, StoredVector, VectorTables } from '../../shared/recall/vectors.ts'
import type { Database, Statement } from '../database.ts'

interface SnippetRow {
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

interface BodyRow {
  readonly body: Uint8Array
}

/** The key of a snippet is one number: the owner in the high bits, the number of the snippet in the low 32 bits. */
const SNIPPET_KEY = '(?1 << 32 | ?2)'
const COLUMNS = `snippet >> 32 AS owner, snippet & 4294967295 AS number, memory_snippets.conversation AS conversation, block, part,
  memory_snippets.seq AS seq, memory_snippets.turn AS turn, role, ts, path, body`
const SNIPPET = `SELECT ${COLUMNS} FROM memory_snippets`
/** Snippets with their conversation, unless its deletion has begun, and with what their turn did. */
const PLACED = `SELECT ${COLUMNS}, conversations.id AS conversationId, uses FROM memory_snippets
  LEFT JOIN conversations ON conversations.key = memory_snippets.conversation AND deleted_at IS NULL
  LEFT JOIN memory_turns ON memory_turns.conversation = memory_snippets.conversation AND memory_turns.turn = memory_snippets.turn`
const OWNER = 'SELECT key, folder, next, snippets FROM memory_owners WHERE folder = ?'
/** How many snippets the postings of a row cover. */
const CHUNK = 4_096

interface PlacedRow extends SnippetRow {
  readonly conversationId: string | null
  readonly uses: number | null
}

function snippetOf({ turn, body, ...row }: SnippetRow): StoredSnippet {
  return { ...row, turnId: turn, text: body }
}

const placedOf = ({ conversationId, uses, ...row }: PlacedRow): PlacedSnippet => ({
  ...snippetOf(row),
  conversationId: conversationId ?? undefined,
  isLookup: isLookupUse(uses),
})

/** Reads the tables of the memory index. Call its functions inside `database.read`. */
export function createIndexReader(database: Database): IndexReader {
  const owner = database.readStatement<Owner>(OWNER)
  const postings = database.readStatement<PostingRow>(
    'SELECT term, chunk, body FROM memory_postings WHERE owner = ? AND term = ? ORDER BY chunk',
  )
  const count = database.readStatement<{ postings: number }>(
    `SELECT sum(length(body)) / ${POSTING_BYTES} AS postings FROM memory_postings WHERE owner = ? AND term = ?`,
  )
  const documents = database.readStatement<DocumentRow>(
    'SELECT "group", body FROM memory_documents WHERE owner = ? AND "group" >= ? ORDER BY "group"',
  )
  const snippet = database.readStatement<PlacedRow>(`${PLACED} WHERE snippet = ${SNIPPET_KEY}`)
  const vectors = database.readStatement<StoredVector>(
    `SELECT snippet & 4294967295 AS number, body FROM memory_vectors
     WHERE snippet >= (?1 << 32 | ?3) AND snippet < ((?1 + 1) << 32) AND model = ?2 ORDER BY snippet LIMIT ?4`,
  )
  const nthTurn = database.readStatement<{ turn: string }>(
    'SELECT turn FROM memory_turns WHERE conversation = ? ORDER BY seq, turn LIMIT 1 OFFSET ?',
  )
  const ofTurn = database.readStatement<PlacedRow>(
    `${PLACED} WHERE memory_snippets.conversation = ? AND memory_snippets.turn = ? ORDER BY block, part`,
  )
  const keyOf = database.readStatement<{ key: number }>('SELECT key FROM conversations WHERE id = ? AND deleted_at IS NULL')

  return {
    chunk: CHUNK,
    findOwner: (folder) => owner.get(folder),
    postings: ({ key }, terms) =>
      terms.flatMap(({ term, atMost }) => {
        const isTooFrequent = atMost !== undefined && (count.get(key, term)?.postings ?? 0) > atMost
        return isTooFrequent ? [] : postings.all(key, term)
      }),
    documents: (key, from) => documents.all(key, from),
    snippets: (key, numbers) =>
      numbers.flatMap((number) => {
        const row = snippet.get(key, number)
        return row ? [placedOf(row)] : []
      }),
    vectors: (key, model, from, limit) => vectors.all(key, model, from, limit),
    snippetsOfTurn(key, ordinal) {
      const found = nthTurn.get(key, ordinal - 1)
      return found ? ofTurn.all(key, found.turn).map(placedOf) : []
    },
    conversationKey: (id) => (id.isWellFormed() ? keyOf.get(id)?.key : undefined),
  }
}

type OnRemoved = (table: string, rows: number) => void

/** Writes the tables of the memory index. Call its functions inside `database.write`. `onRemoved` gets the number of rows that were removed. */
export function createIndexWriter(database: Database, onRemoved: OnRemoved): IndexWriter {
  const owner = database.writeStatement<Owner>(OWNER)
  const createOwner = database.writeStatement('INSERT INTO memory_owners (folder, next, snippets) VALUES (?, 0, 0)')
  const saveOwner = database.writeStatement('UPDATE memory_owners SET next = ?, snippets = ? WHERE key = ?')
  const removeOwner = database.writeStatement('DELETE FROM memory_owners WHERE key = ?')
  const removeAllDocuments = database.writeStatement('DELETE FROM memory_documents WHERE owner = ?')
  const partsOf = database.writeStatement<{ block: number; part: number }>(
    'SELECT block, part FROM memory_snippets WHERE conversation = ? AND block = ?',
  )
  const insertSnippet = database.writeStatement(
    `INSERT INTO memory_snippets (snippet, conversation, block, part, seq, turn, role, ts, path, body)
     VALUES (${SNIPPET_KEY}, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`,
  )
  const removeSnippet = database.writeStatement(`DELETE FROM memory_snippets WHERE snippet = ${SNIPPET_KEY}`)
  const removeVector = database.writeStatement(`DELETE FROM memory_vectors WHERE snippet = ${SNIPPET_KEY}`)
  const postings = createBodyStatements(database, onRemoved, 'memory_postings', ['owner', 'term', 'chunk'])
  const documents = createBodyStatements(database, onRemoved, 'memory_documents', ['owner', '"group"'])
  const noteTurn = database.writeStatement(
    `INSERT INTO memory_turns (conversation, turn, seq, uses) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET uses = uses | excluded.uses WHERE uses & excluded.uses <> excluded.uses`,
  )

  return {
    chunk: CHUNK,
    findOwner: (folder) => owner.get(folder),
    createOwner(folder) {
      createOwner.run(folder)
      return owner.get(folder) as Owner // the row was just inserted
    },
    saveOwner: ({ key, next, snippets }) => void saveOwner.run(next, snippets, key),
    removeOwner(key) {
      onRemoved('memory_documents', removeAllDocuments.run(key))
      onRemoved('memory_owners', removeOwner.run(key))
    },
    findParts: (key, blocks) => new Set(blocks.flatMap((block) => partsOf.all(key, block).map((row) => partKey({ ...row })))),
    insertSnippets(snippets) {
      for (const { owner: key, number, conversation, block, part, seq, turnId, role, ts, path, text } of snippets)
        insertSnippet.run(key, number, conversation, block, part, seq, turnId, role, ts, path, text)
    },
    removeSnippets(snippets) {
      for (const { owner: key, number } of snippets) {
        onRemoved('memory_vectors', removeVector.run(key, number))
        onRemoved('memory_snippets', removeSnippet.run(key, number))
      }
    },
    appendPostings(key, rows) {
      for (const { term, chunk, body } of rows) postings.append([key, term, chunk], body)
    },
    readPostings: (key, keys) =>
      keys.flatMap(({ term, chunk }) => {
        const body = postings.read([key, term, chunk])
        return body ? [{ term, chunk, body }] : []
      }),
    writePostings(key, rows) {
      for (const { term, chunk, body } of rows) postings.write([key, term, chunk], body)
    },
    appendDocuments(key, rows) {
      for (const { group, body } of rows) documents.append([key, group], body)
    },
    readDocuments: (key, groups) =>
      groups.flatMap((group) => {
        const body = documents.read([key, group])
        return body ? [{ group, body }] : []
      }),
    writeDocuments(key, rows) {
      for (const { group, body } of rows) documents.write([key, group], body)
    },
    noteTurns(key, turns) {
      for (const { turnId, seq, ...facts } of turns) noteTurn.run(key, turnId, seq, usesOf(facts))
    },
  }
}

/** The vectors of the memory index. Call its functions inside `database.write`. */
export function createVectorTables(database: Database): VectorTables {
  const model = database.writeStatement<StoredModel>('SELECT key, name, dimensions FROM memory_models ORDER BY key DESC LIMIT 1')
  const insertModel = database.writeStatement('INSERT INTO memory_models (name, dimensions) VALUES (?, ?)')
  const removeOthers = database.writeStatement('DELETE FROM memory_models WHERE key < (SELECT max(key) FROM memory_models)')
  const missing = database.writeStatement<SnippetText>(
    'SELECT snippet >> 32 AS owner, snippet & 4294967295 AS number, body AS text FROM memory_snippets WHERE vector < ? LIMIT ?',
  )
  const mark = database.writeStatement(`UPDATE memory_snippets SET vector = ?3 WHERE snippet = ${SNIPPET_KEY}`)
  const save = database.writeStatement(`INSERT OR REPLACE INTO memory_vectors VALUES (${SNIPPET_KEY}, ?3, ?4)`)
  const count = database.writeStatement<{ done: number; all: number }>(
    'SELECT (SELECT count(*) FROM memory_snippets WHERE vector = ?) AS done, (SELECT count(*) FROM memory_snippets) AS "all"',
  )
  return {
    model: () => model.get(),
    replaceModel(name, dimensions) {
      insertModel.run(name, dimensions)
      removeOthers.run()
      return model.get() as StoredModel // the row was just inserted
    },
    missing: (key, limit) => missing.all(key, limit),
    save(key, rows) {
      for (const { owner, number, body } of rows) if (mark.run(owner, number, key) === 1) save.run(owner, number, key, body)
    },
    count: (key) => count.get(key) as { done: number; all: number }, // the statement always returns one row
  }
}

/** Statements for a table whose rows have a key of several columns and a body of bytes. */
function createBodyStatements(database: Database, onRemoved: OnRemoved, table: string, columns: readonly string[]) {
  const isKey = columns.map((column) => `${column} = ?`).join(' AND ')
  const append = database.writeStatement(
    // `||` makes a text of two blobs, so the result is cast
    `INSERT INTO ${table} VALUES (${columns.map(() => '?').join(', ')}, ?) ON CONFLICT DO UPDATE SET body = CAST(body || excluded.body AS BLOB)`,
  )
  const read = database.writeStatement<BodyRow>(`SELECT body FROM ${table} WHERE ${isKey}`)
  const replace = database.writeStatement(`UPDATE ${table} SET body = ? WHERE ${isKey}`)
  const remove = database.writeStatement(`DELETE FROM ${table} WHERE ${isKey}`)
  return {
    append: (key: readonly number[], body: Uint8Array): void => void append.run(...key, body),
    read: (key: readonly number[]): Uint8Array | undefined => read.get(...key)?.body,
    /** An empty body removes the row. */
    write(key: readonly number[], body: Uint8Array): void {
      if (body.length > 0) replace.run(body, ...key)
      else onRemoved(table, remove.run(...key))
    },
  }
}

/** Finds stored snippets of a conversation, for their removal. */
export function createSnippetFinder(database: Database): {
  readonly some: Statement<SnippetRow>
  readonly withoutEntry: Statement<SnippetRow>
  parse(row: SnippetRow): StoredSnippet
} {
  return {
    some: database.writeStatement<SnippetRow>(`${SNIPPET} WHERE conversation = ? LIMIT ?`),
    withoutEntry: database.writeStatement<SnippetRow>(
      `${SNIPPET} WHERE conversation = ? AND NOT EXISTS (SELECT 1 FROM journal WHERE entry = (conversation << 32 | seq))`,
    ),
    parse: snippetOf,
  }
}
