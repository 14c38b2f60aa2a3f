import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { termsOf } from '../../core/recall/terms.ts'
import { hasRemains, purgeRemoved } from './purge.ts'
import type { KnowledgeDocument } from './read-document.ts'
import type { Section } from './sections.ts'

/**
 * The index of the knowledge base: an SQLite file. Everything in it can be read again from the documents, so it may be deleted at any time.
 * Several processes may use it at once.
 *
 *   documents   one row for each file: its size, time and hash, its title and summary, or why it can not be read
 *   sections    the parts of each document, with their texts
 *   terms       the words of each section, in a full-text index of SQLite. Row ids are those of `sections`
 *   removals    one row with two numbers: how many documents were removed, and how many of these are overwritten in the file
 */
export interface KnowledgeIndex {
  find(path: string): StoredDocument | undefined
  /** The state of each file whose path begins with `prefix`. */
  states(prefix: string): ReadonlyMap<string, FileState>
  /** Stores the state and the content of a file. Replaces what was stored for this file before. */
  put(path: string, state: FileState, content: IndexedContent): void
  /** Stores the new size and time of a file whose content has not changed. */
  touch(path: string, state: FileState): void
  remove(path: string): void
  /** The sections with the best scores among those that have one of these terms and whose path begins with `prefix`. */
  search(terms: readonly string[], prefix: string, limit: number): readonly Match[]
  list(prefix: string): readonly ListedDocument[]
  /** Overwrites the remains of removed texts in the index file, in small steps. Does nothing if there are no remains. */
  purge(signal: AbortSignal): Promise<void>
  close(): void
}

/** The size, time and hash of a file. A file whose size and time have not changed is not read again. */
export interface FileState {
  readonly size: number
  readonly mtime: string
  readonly hash: string
}

/** A document with the terms of each of its sections, or why the file is not a document. */
export type IndexedContent =
  | { readonly document: KnowledgeDocument; readonly about: string; readonly terms: readonly SectionTerms[] }
  | { readonly problem: string }

/** The terms of the heading and of the text of a section, with spaces between them. */
export interface SectionTerms {
  readonly heading: string
  readonly body: string
}

/** A document of the index. `sections` is empty if the file can not be read. */
export interface StoredDocument extends FileState, ListedDocument {
  readonly sections: readonly Section[]
}

/** What the index knows about a file, without its text. */
export interface ListedDocument {
  readonly path: string
  readonly title: string
  readonly mime: string
  readonly size: number
  readonly summary?: string
  readonly url?: string
  readonly tags: readonly string[]
  /** Why the file can not be read, or what else is wrong with it. */
  readonly problem?: string
}

/** A section that a search has found. */
export interface Match {
  readonly path: string
  readonly title: string
  readonly mime: string
  readonly summary?: string
  readonly url?: string
  readonly tags: readonly string[]
  readonly anchor: string
  readonly headings: readonly string[]
  /** The text of the section. */
  readonly text: string
  /** Whether the document has other sections. */
  readonly isPart: boolean
  /** A greater score is better. */
  readonly score: number
}

/** The version of the tables. Change it whenever the tables change. */
const layout = 2
const sample = 'The indexed HTTPServer parses user_names of 12 cafés in München: 日本語の文書, документы.'
/**
 * The version of the index. It changes when the tables or the rules for terms change. The content of an index file with another version is
 * deleted and built again.
 */
const version =
  createHash('sha256')
    .update(`${layout} ${termsOf(sample).join(' ')}`)
    .digest()
    .readUInt32BE() >>> 1

// words of the title and the tags (`about`) have four times the weight of words of the text, and words of the heading three times
const schema = `
  CREATE TABLE documents (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, mtime TEXT NOT NULL, hash TEXT NOT NULL,
    mime TEXT NOT NULL, title TEXT NOT NULL, summary TEXT, url TEXT, tags TEXT NOT NULL, problem TEXT) STRICT;
  CREATE TABLE sections (
    id INTEGER PRIMARY KEY, document INTEGER NOT NULL REFERENCES documents (id), anchor TEXT NOT NULL, headings TEXT NOT NULL,
    text TEXT NOT NULL, below INTEGER NOT NULL) STRICT;
  CREATE INDEX sections_of ON sections (document);
  CREATE VIRTUAL TABLE terms USING fts5 (about, heading, body, content='', contentless_delete=1, tokenize='ascii');
  CREATE TABLE removals (made INTEGER NOT NULL, overwritten INTEGER NOT NULL) STRICT;
  INSERT INTO removals VALUES (0, 0);
  INSERT INTO terms (terms, rank) VALUES ('rank', 'bm25(4.0, 3.0, 1.0)');
  PRAGMA user_version = ${version};
`

/** Opens the index. A file that is damaged or has another version is deleted and created again. `:memory:` keeps the index in memory. */
export async function openIndex(file: string): Promise<KnowledgeIndex> {
  const { DatabaseSync: Database } = await import('node:sqlite') // on demand, because few agents have a knowledge base
  try {
    return createIndex(prepare(new Database(file)))
  } catch (error) {
    if (file === ':memory:' || !isDamaged(error)) throw error
    for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true })
    return createIndex(prepare(new Database(file)))
  }
}

const SQLITE_CORRUPT = 11
const SQLITE_NOTADB = 26
const isDamaged = (error: unknown): boolean =>
  [SQLITE_CORRUPT, SQLITE_NOTADB].includes(((error as { readonly errcode?: number }).errcode ?? 0) & 0xff)

function prepare(database: DatabaseSync): DatabaseSync {
  try {
    database.exec(
      // deleted text is overwritten
      'PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON',
    )
    const replaced = inTransaction(database, () => {
      const { user_version: found } = database.prepare('PRAGMA user_version').get() as { user_version: number }
      if (found === version) return false
      for (const table of ['terms', 'sections', 'documents', 'removals']) database.exec(`DROP TABLE IF EXISTS ${table}`)
      database.exec(schema)
      return found !== 0
    })
    if (replaced) database.exec('VACUUM') // earlier versions did not overwrite deleted text
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

function inTransaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    database.exec('COMMIT')
    return result
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

interface DocumentRow {
  readonly id: number
  readonly path: string
  readonly size: number
  readonly mtime: string
  readonly hash: string
  readonly mime: string
  readonly title: string
  readonly summary: string | null
  readonly url: string | null
  readonly tags: string
  readonly problem: string | null
}
interface SectionRow {
  readonly anchor: string
  readonly headings: string
  readonly text: string
  readonly below: number
}

/** A text that is greater than all paths that begin with `prefix`, for comparisons. */
const endOf = (prefix: string): string => `${prefix}\u{10ffff}`

function createIndex(database: DatabaseSync): KnowledgeIndex {
  const findDocument = database.prepare('SELECT * FROM documents WHERE path = ?')
  const findSections = database.prepare('SELECT anchor, headings, text, below FROM sections WHERE document = ? ORDER BY id')
  const stateRows = database.prepare('SELECT path, size, mtime, hash FROM documents WHERE path >= ? AND path < ?')
  const listRows = database.prepare(
    'SELECT path, size, mime, title, summary, url, tags, problem FROM documents WHERE path >= ? AND path < ? ORDER BY path',
  )
  const removeTerms = database.prepare('DELETE FROM terms WHERE rowid IN (SELECT id FROM sections WHERE document = ?)')
  const removeSections = database.prepare('DELETE FROM sections WHERE document = ?')
  const removeDocument = database.prepare('DELETE FROM documents WHERE id = ?')
  const addDocument = database.prepare(
    'INSERT INTO documents (path, size, mtime, hash, mime, title, summary, url, tags, problem) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  )
  const addSection = database.prepare('INSERT INTO sections (document, anchor, headings, text, below) VALUES (?, ?, ?, ?, ?)')
  const addTerms = database.prepare('INSERT INTO terms (rowid, about, heading, body) VALUES (?, ?, ?, ?)')
  const countRemoval = database.prepare('UPDATE removals SET made = made + 1')
  const touch = database.prepare('UPDATE documents SET size = ?, mtime = ? WHERE path = ?')
  const matches = database.prepare(`
    SELECT path, title, mime, summary, url, tags, anchor, headings, text, score,
      (SELECT count(*) FROM sections AS other WHERE other.document = documents.id) AS parts
    FROM (
      SELECT terms.rowid AS found, -terms.rank AS score FROM terms
      JOIN sections ON sections.id = terms.rowid JOIN documents ON documents.id = sections.document
      WHERE terms MATCH ?1 AND path >= ?2 AND path < ?3 ORDER BY terms.rank LIMIT ?4)
    JOIN sections ON sections.id = found JOIN documents ON documents.id = sections.document
    ORDER BY score DESC, path, sections.id`)

  function removeRows(path: string): void {
    const row = findDocument.get(path) as DocumentRow | undefined
    if (!row) return
    removeTerms.run(row.id)
    removeSections.run(row.id)
    removeDocument.run(row.id)
    countRemoval.run()
  }

  return {
    find(path) {
      const row = findDocument.get(path) as DocumentRow | undefined
      const sections = row ? (findSections.all(row.id) as unknown as SectionRow[]).map(sectionOf) : []
      return row && { ...listed(row), mtime: row.mtime, hash: row.hash, sections }
    },
    states: (prefix) =>
      new Map(
        (stateRows.all(prefix, endOf(prefix)) as unknown as (FileState & { path: string })[]).map(({ path, ...state }) => [path, state]),
      ),
    put: (path, { size, mtime, hash }, content) =>
      inTransaction(database, () => {
        removeRows(path)
        if ('problem' in content) {
          addDocument.run(path, size, mtime, hash, '', '', null, null, '[]', content.problem)
          return
        }
        const { mime, title, summary = null, url = null, tags, sections, remark = null } = content.document
        const { lastInsertRowid: id } = addDocument.run(path, size, mtime, hash, mime, title, summary, url, JSON.stringify(tags), remark)
        for (const [index, { anchor, headings, text, below }] of sections.entries()) {
          const { heading = '', body = '' } = content.terms[index] ?? {}
          const section = addSection.run(id, anchor, JSON.stringify(headings), text, below)
          addTerms.run(section.lastInsertRowid, content.about, heading, body)
        }
      }),
    touch: (path, { size, mtime }) => void touch.run(size, mtime, path),
    remove: (path) => inTransaction(database, () => removeRows(path)),
    search(terms, prefix, limit) {
      const query = terms.map((term) => `"${term.replaceAll('"', '')}"`).join(' OR ')
      const rows = matches.all(query, prefix, endOf(prefix), limit) as unknown as MatchRow[]
      return rows.map((row) => ({
        ...aboutOf(row),
        anchor: row.anchor,
        headings: JSON.parse(row.headings) as string[],
        text: row.text,
        isPart: row.parts > 1,
        score: row.score,
      }))
    },
    list: (prefix) => listRows.all(prefix, endOf(prefix)).map((row) => listed(row as unknown as DocumentRow)),
    async purge(signal) {
      if (hasRemains(database)) await purgeRemoved(database, signal)
    },
    close: () => database.close(),
  }
}

type MatchRow = Pick<DocumentRow, 'path' | 'title' | 'mime' | 'summary' | 'url' | 'tags'> &
  Pick<SectionRow, 'anchor' | 'headings' | 'text'> & { readonly parts: number; readonly score: number }

const aboutOf = ({ path, title, mime, summary, url, tags }: Pick<DocumentRow, 'path' | 'title' | 'mime' | 'summary' | 'url' | 'tags'>) => ({
  path,
  title,
  mime,
  ...(summary !== null && { summary }),
  ...(url !== null && { url }),
  tags: JSON.parse(tags) as string[],
})

const listed = (row: DocumentRow): ListedDocument => ({
  ...aboutOf(row),
  size: row.size,
  ...(row.problem !== null && { problem: row.problem }),
})

const sectionOf = ({ headings, ...section }: SectionRow): Section => ({ ...section, headings: JSON.parse(headings) as string[] })
