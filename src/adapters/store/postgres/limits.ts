import { createHash } from 'node:crypto'
import { tenantOfKey } from '../../../core/scope.ts'
import type { SharedLimits } from '../../../ports/store/limits.ts'
import { isStorableId } from './conversation-columns.ts'
import type { Database } from './database.ts'

/** How often a process removes buckets that are full again, in milliseconds. */
const CLEAN_MS = 60_000

/**
 * The token buckets that limit the requests of users. Their table has no write-ahead log, so all buckets are full after a crash of the
 * server. Their names are hashed, so that the table contains no names of users who were deleted. The times come from the clock of the
 * database server, so the clocks of the processes may differ.
 */
export function createPostgresLimits(database: Pick<Database, 'statements' | 'all'>, now: () => string): SharedLimits {
  let cleanedAt = Number.NEGATIVE_INFINITY

  /** Removes buckets that are full again. Skips rows that another process is changing, so that no two processes wait for each other. */
  async function clean(): Promise<void> {
    if (performance.now() - cleanedAt < CLEAN_MS) return
    cleanedAt = performance.now()
    await database.statements.run(
      `DELETE FROM rate_limits WHERE name IN (
         SELECT name FROM rate_limits WHERE at + (2 * burst / per_second + 60) * interval '1 second' < clock_timestamp() FOR UPDATE SKIP LOCKED)`,
    )
  }

  return {
    async take(uses) {
      if (uses.length === 0) return []
      const names = uses.map(({ name }) => createHash('sha256').update(name).digest())
      // The rows are changed in the order of their names, so that two processes do not wait for each other.
      const rows = await database.statements.all<{ name: Buffer; tokens: number }>(
        `INSERT INTO rate_limits AS known (name, tokens, burst, per_second, at)
           SELECT name, greatest(burst - used, -burst), burst, per_second, clock_timestamp()
           FROM unnest($1::bytea[], $2::float8[], $3::float8[], $4::float8[]) AS uses (name, used, burst, per_second) ORDER BY name
         ON CONFLICT (name) DO UPDATE SET
           tokens = greatest(-excluded.burst, excluded.tokens - excluded.burst + least(
             excluded.burst,
             known.tokens + greatest(0, extract(epoch FROM clock_timestamp() - known.at)::float8) * excluded.per_second)),
           burst = excluded.burst, per_second = excluded.per_second, at = clock_timestamp()
         RETURNING name, tokens`,
        [names, uses.map(({ used }) => used), uses.map(({ burst }) => burst), uses.map(({ perMinute }) => perMinute / 60)],
      )
      await clean()
      const left = new Map(rows.map(({ name, tokens }) => [name.toString('hex'), tokens]))
      return names.map((name, n) => left.get(name.toString('hex')) ?? uses[n]?.burst ?? 0)
    },

    async countTurns(conversationId) {
      const sql = `SELECT folder, count(*)::int AS turns FROM conversations WHERE tenant = $1 AND ${HAS_TURN} GROUP BY folder`
      const rows = await database.all<{ folder: string; turns: number }>(sql, [tenantOfKey(conversationId), now()])
      return new Map(rows.map(({ folder, turns }) => [folder, turns]))
    },

    async turnsOf(conversationId, atMost) {
      if (!isStorableId(conversationId)) return []
      const folder = conversationId.slice(0, conversationId.lastIndexOf('/') + 1)
      const sql = `SELECT id FROM conversations WHERE tenant = $1 AND folder = $3 AND ${HAS_TURN} LIMIT $4`
      const rows = await database.all<{ id: string }>(sql, [tenantOfKey(conversationId), now(), folder, atMost])
      return rows.map(({ id }) => id)
    },
  }
}

/**
 * SQL that is true if a process runs the conversation or could claim it now. It is false for a turn that waits for a person, and for a turn
 * that failed and waits for its next attempt.
 */
const HAS_TURN = `free_at IS NOT NULL AND (free_at <= $2 OR owner_id IS NOT NULL AND lease_expires_at COLLATE "C" > $2)`
