import { type DocumentRow, type IndexWriter, type Owner, type PostingRow, partKey, usesOf } from '../../shared/recall/tables.ts'
import type { Queries } from '../database.ts'
import { hashOf } from '../journal/journal.ts'
import { CHUNK, SNIPPET_COLUMNS } from './read-tables.ts'

type OnRemoved = (table: string, rows: number) => void

/** Writes the tables of the memory index. The caller has locked the folder. `onRemoved` gets the number of rows that were removed. */
export function createIndexWriter({ all, run }: Queries, onRemoved: OnRemoved = () => {}): IndexWriter {
  const remove = async (table: string, where: string, values: readonly unknown[]) =>
    onRemoved(table, await run(`DELETE FROM ${table} WHERE ${where}`, values))

  return {
    chunk: CHUNK,
    async findOwner(folder) {
      return (await all<Owner>('SELECT key, folder, next, snippets FROM memory_owners WHERE folder = $1', [folder]))[0]
    },
    async createOwner(folder) {
      const sql = 'INSERT INTO memory_owners (folder, next, snippets) VALUES ($1, 0, 0) RETURNING key, folder, next, snippets'
      return (await all<Owner>(sql, [folder]))[0] as Owner // the row was just inserted
    },
    async saveOwner({ key, next, snippets }) {
      await run('UPDATE memory_owners SET next = $2, snippets = $3 WHERE key = $1', [key, next, snippets])
    },
    async removeOwner(key) {
      await remove('memory_documents', 'owner = $1', [key])
      await remove('memory_postings', 'owner = $1', [key])
      await remove('memory_owners', 'key = $1', [key])
    },

    async findParts(conversation, blocks) {
      const rows = await all<{ block: number; part: number }>(
        `SELECT stored.block, stored.part FROM unnest($2::bigint[]) AS wanted (block),
         LATERAL (SELECT block, part FROM memory_snippets WHERE conversation = $1 AND block = wanted.block OFFSET 0) AS stored`,
        [conversation, blocks],
      )
      return new Set(rows.map(partKey))
    },
    async insertSnippets(snippets) {
      const rows = snippets.map(({ owner, number, conversation, block, part, seq, turnId, role, ts, path, text }) => [
        ...[owner, number, conversation, block, part, seq, JSON.stringify(turnId), role, ts, JSON.stringify(path), JSON.stringify(text)],
      ])
      await run(
        `INSERT INTO memory_snippets (${SNIPPET_COLUMNS.join(', ')}) SELECT * FROM unnest($1::bigint[], $2::int[], $3::bigint[], $4::bigint[], $5::int[],
         $6::int[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[])`,
        SNIPPET_COLUMNS.map((_, column) => rows.map((row) => row[column])),
      )
    },
    async removeSnippets(snippets) {
      const places = [snippets.map(({ owner }) => owner), snippets.map(({ number }) => number)]
      const found = (table: string) =>
        `(owner, number) IN (SELECT ${table}.owner, ${table}.number FROM unnest($1::bigint[], $2::int[]) AS wanted (owner, number)
         JOIN ${table} USING (owner, number) ORDER BY 1, 2 FOR UPDATE OF ${table})`
      await remove('memory_snippets', found('memory_snippets'), places)
      // after the snippets, because a process that saves a vector locks the row of its snippet
      await remove('memory_vectors', found('memory_vectors'), places)
    },

    async appendPostings(owner, rows) {
      await run(
        `INSERT INTO memory_postings (owner, term, chunk, body) SELECT $1, r.* FROM unnest($2::bigint[], $3::int[], $4::bytea[]) AS r
         ON CONFLICT (owner, term, chunk) DO UPDATE SET body = memory_postings.body || excluded.body`,
        [owner, ...postingColumns(rows), rows.map(({ body }) => body)],
      )
    },
    readPostings: (owner, keys) =>
      all<PostingRow>(
        `SELECT stored.* FROM unnest($2::bigint[], $3::int[]) AS wanted (term, chunk), LATERAL (
           SELECT term, chunk, body FROM memory_postings WHERE owner = $1 AND term = wanted.term AND chunk = wanted.chunk LIMIT 1
         ) AS stored`,
        [owner, ...postingColumns(keys)],
      ),
    async writePostings(owner, rows) {
      const [kept, empty] = [rows.filter(({ body }) => body.length > 0), rows.filter(({ body }) => body.length === 0)]
      await run(
        `INSERT INTO memory_postings (owner, term, chunk, body) SELECT $1, r.* FROM unnest($2::bigint[], $3::int[], $4::bytea[]) AS r
         ON CONFLICT (owner, term, chunk) DO UPDATE SET body = excluded.body`,
        [owner, ...postingColumns(kept), kept.map(({ body }) => body)],
      )
      await remove('memory_postings', 'owner = $1 AND (term, chunk) IN (SELECT * FROM unnest($2::bigint[], $3::int[]))', [
        ...[owner, ...postingColumns(empty)],
      ])
    },

    async appendDocuments(owner, rows) {
      await run(
        `INSERT INTO memory_documents (owner, "group", body) SELECT $1, r.* FROM unnest($2::int[], $3::bytea[]) AS r
         ON CONFLICT (owner, "group") DO UPDATE SET body = memory_documents.body || excluded.body`,
        [owner, rows.map(({ group }) => group), rows.map(({ body }) => body)],
      )
    },
    readDocuments: (owner, groups) =>
      all<DocumentRow>('SELECT "group", body FROM memory_documents WHERE owner = $1 AND "group" = ANY ($2::int[])', [owner, groups]),
    async writeDocuments(owner, rows) {
      await run(
        `UPDATE memory_documents SET body = r.body FROM unnest($2::int[], $3::bytea[]) AS r ("group", body)
         WHERE owner = $1 AND memory_documents."group" = r."group"`,
        [owner, rows.map(({ group }) => group), rows.map(({ body }) => body)],
      )
    },

    async noteTurns(conversation, turns) {
      const names = turns.map(({ turnId }) => turnId)
      await run(
        `INSERT INTO memory_turns (conversation, turn_hash, turn, seq, uses)
         SELECT $1, r.* FROM unnest($2::bytea[], $3::text[], $4::int[], $5::int[]) AS r
         ON CONFLICT (conversation, turn_hash) DO UPDATE SET uses = memory_turns.uses | excluded.uses
         WHERE memory_turns.uses & excluded.uses <> excluded.uses`,
        [conversation, names.map(hashOf), names.map((name) => JSON.stringify(name)), turns.map(({ seq }) => seq), turns.map(usesOf)],
      )
    },
  }
}

const postingColumns = (rows: readonly Omit<PostingRow, 'body'>[]) => [rows.map(({ term }) => term), rows.map(({ chunk }) => chunk)]
