import type pg from 'pg'

/** The tables that grow with the entries of conversations. */
export const growingTables = ['journal', 'sources', 'blocks', 'names', 'blob_refs', 'offers'] as const

const PARTITIONS = 3

/** Replaces the tables of a schema by tables that are partitioned by the hash of `conversation`, as docs/scaling.md describes. */
export async function partitionTables(client: pg.Client, schema: string): Promise<void> {
  const run = (sql: string) => client.query(sql)
  await run(`BEGIN; SET LOCAL search_path = ${schema}`)
  for (const table of growingTables) {
    await run(`ALTER TABLE ${table} RENAME TO old_${table}`)
    await run(`CREATE TABLE ${table} (LIKE old_${table} INCLUDING DEFAULTS INCLUDING INDEXES) PARTITION BY HASH (conversation)`)
    for (let n = 0; n < PARTITIONS; n++)
      await run(`CREATE TABLE ${table}_${n} PARTITION OF ${table} FOR VALUES WITH (MODULUS ${PARTITIONS}, REMAINDER ${n})`)
    await run(`INSERT INTO ${table} SELECT * FROM old_${table}`)
    if (['sources', 'blob_refs', 'offers'].includes(table))
      await run(`ALTER TABLE ${table} ADD FOREIGN KEY (conversation) REFERENCES conversations (key) ON DELETE CASCADE`)
    if (table === 'offers') {
      await run(`CREATE SEQUENCE offer_numbers; SELECT setval('offer_numbers', (SELECT coalesce(max(number), 0) + 1 FROM offers))`)
      await run(`ALTER TABLE offers ALTER number SET DEFAULT nextval('${schema}.offer_numbers')`)
    }
    await run(`DROP TABLE old_${table}`)
  }
  await run('COMMIT')
}
