import type { SnippetText } from '../../../../ports/store/memory-index.ts'
import type { StoredModel, VectorTables } from '../../shared/recall/vectors.ts'
import type { Queries } from '../database.ts'

/** Two processes that choose a model at the same time wait for each other. No other program is likely to use this number as a lock. */
const MODEL_LOCK = 0x64617965

/** The vectors of the memory index. Call its functions in one transaction. */
export function createVectorTables({ all, run }: Queries): VectorTables {
  const model = async () => (await all<StoredModel>('SELECT key, name, dimensions FROM memory_models ORDER BY key DESC LIMIT 1'))[0]

  return {
    model,
    async replaceModel(name, dimensions) {
      await run('SELECT pg_advisory_xact_lock($1)', [MODEL_LOCK])
      const known = await model()
      if (known?.name === name && known.dimensions === dimensions) return known // another process has chosen the same model meanwhile
      const sql = 'INSERT INTO memory_models (name, dimensions) VALUES ($1, $2) RETURNING key, name, dimensions'
      const [created] = await all<StoredModel>(sql, [name, dimensions])
      await run('DELETE FROM memory_models WHERE key < $1', [created?.key])
      return created as StoredModel // the row was just inserted
    },
    async missing(key, limit) {
      const rows = await all<{ owner: number; number: number; body: string }>(
        'SELECT owner, number, body FROM memory_snippets WHERE vector < $1 ORDER BY vector, owner, number LIMIT $2',
        [key, limit],
      )
      return rows.map(({ owner, number, body }): SnippetText => ({ owner, number, text: JSON.parse(body) as string })) // only Daybook writes this column
    },
    async save(key, rows) {
      // the rows of the snippets are locked in order, because two processes may save vectors of the same snippets
      await run(
        `WITH made AS MATERIALIZED (
           SELECT snippet.owner, snippet.number, made.body FROM unnest($2::bigint[], $3::int[], $4::bytea[]) AS made (owner, number, body)
           JOIN memory_snippets AS snippet USING (owner, number) ORDER BY 1, 2 FOR UPDATE OF snippet
         ), marked AS (
           UPDATE memory_snippets SET vector = $1 FROM made
           WHERE memory_snippets.owner = made.owner AND memory_snippets.number = made.number RETURNING made.owner, made.number, made.body
         )
         INSERT INTO memory_vectors (owner, number, model, body) SELECT owner, number, $1, body FROM marked ORDER BY owner, number
         ON CONFLICT (owner, number) DO UPDATE SET model = excluded.model, body = excluded.body`,
        [key, rows.map(({ owner }) => owner), rows.map(({ number }) => number), rows.map(({ body }) => body)],
      )
    },
    async count(key) {
      const [row] = await all<{ done: number; all: number }>(
        'SELECT (SELECT count(*) FROM memory_snippets WHERE vector = $1) AS done, (SELECT count(*) FROM memory_snippets) AS "all"',
        [key],
      )
      return row as { done: number; all: number } // the statement always returns one row
    },
  }
}
