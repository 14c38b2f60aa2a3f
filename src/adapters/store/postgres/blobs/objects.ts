import type { Database } from '../database.ts'

/** Small objects by key, such as the records of hosted files. Keys are paths such as `a/b/c`. */
export interface PostgresObjects {
  put(key: string, bytes: Uint8Array): Promise<void>
  get(key: string, range?: { readonly start: number; readonly end: number }): Promise<Uint8Array | undefined>
  exists(key: string): Promise<boolean>
  /** Lists the key `tree` itself and the keys below it. */
  list(tree: string): AsyncIterable<string>
  delete(key: string): Promise<void>
  deleteTree(tree: string): Promise<void>
}

const PAGE_SIZE = 500
/** SQL that selects the key $1 and the keys below it. `0` is the character after `/`, so `key < $1 || '0'` ends the range. */
const IN_TREE = `(key = $1 OR (key > $1 || '/' AND key < $1 || '0'))`

export function createPostgresObjects(database: Database): PostgresObjects {
  return {
    async put(key, bytes) {
      await database.repeat(({ run }) =>
        run('INSERT INTO objects (key, bytes) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET bytes = $2', [key, Buffer.from(bytes)]),
      )
    },
    async get(key, range) {
      const [row] = await database.all<{ bytes: Buffer }>('SELECT bytes FROM objects WHERE key = $1', [key])
      return row && Uint8Array.from(row.bytes.subarray(range?.start, range?.end))
    },
    exists: async (key) => (await database.all('SELECT 1 FROM objects WHERE key = $1', [key])).length > 0,
    async *list(tree) {
      for (let after = ''; ; ) {
        const sql = `SELECT key FROM objects WHERE ${IN_TREE} AND key > $2 ORDER BY key LIMIT ${PAGE_SIZE}`
        const page = await database.all<{ key: string }>(sql, [tree, after])
        for (const { key } of page) yield key
        const last = page.at(-1)
        if (!last) return
        after = last.key
      }
    },
    async delete(key) {
      await database.repeat(({ run }) => run('DELETE FROM objects WHERE key = $1', [key]))
    },
    async deleteTree(tree) {
      await database.repeat(({ run }) => run(`DELETE FROM objects WHERE ${IN_TREE}`, [tree]))
    },
  }
}
