import type pg from 'pg'
import { migrations } from '../../src/adapters/store/postgres/schema/schema.ts'

/** Creates the tables that an earlier version of Daybook has created. The client then uses them. */
export async function createOlderTables(client: pg.Client, schema: string, version: number): Promise<void> {
  await client.query(`CREATE SCHEMA ${schema}; SET search_path = ${schema}`)
  await client.query('CREATE TABLE version (version integer NOT NULL, compatible_from integer NOT NULL)')
  const steps = migrations.slice(0, version)
  for (const { sql } of steps) await client.query(sql)
  await client.query('INSERT INTO version VALUES ($1, $2)', [version, Math.max(...steps.map(({ compatibleFrom }) => compatibleFrom))])
}
