import { DatabaseSync } from 'node:sqlite'

/**
 * The part of the package better-sqlite3 that SqliteSaver uses, implemented with the SQLite of Node. The package better-sqlite3 itself has
 * to be compiled for each version of Node, which is not possible on every machine. Daybook and Flue also use the SQLite of Node.
 */
export function openDatabase(file) {
  const database = new DatabaseSync(file)
  return {
    prepare(sql) {
      const statement = database.prepare(sql)
      const bound = (args) => args.map((value) => value ?? null)
      return {
        run: (...args) => statement.run(...bound(args)),
        get: (...args) => statement.get(...bound(args)),
        all: (...args) => statement.all(...bound(args)),
      }
    },
    exec: (sql) => database.exec(sql),
    pragma: (text) => database.exec(`PRAGMA ${text}`),
    transaction:
      (work) =>
      (...args) => {
        database.exec('BEGIN')
        try {
          const result = work(...args)
          database.exec('COMMIT')
          return result
        } catch (error) {
          database.exec('ROLLBACK')
          throw error
        }
      },
    close: () => database.close(),
  }
}
