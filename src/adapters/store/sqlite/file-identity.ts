import { statSync } from 'node:fs'
import { Failure } from '../../../core/failure.ts'

/**
 * Notices that an open database was removed or replaced. SQLite goes on with the removed file and reports no error, and everything that it
 * writes is lost when the process ends. The write-ahead log can be lost in the same way.
 */
export function createFileCheck(file: string): () => void {
  const known = new Map<string, string>()

  return () => {
    for (const path of [file, `${file}-wal`]) {
      const found = identityOf(path)
      const before = known.get(path)
      if (before === undefined) {
        // the log does not exist before the first commit
        if (found !== undefined) known.set(path, found)
      } else if (found !== before) throw lostFile(path, found === undefined ? 'removed' : 'replaced')
    }
  }
}

/** Identifies a file. Another file with the same name has another identity. Undefined when there is no file. */
function identityOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}

const lostFile = (path: string, what: 'removed' | 'replaced') =>
  new Failure(
    'store.failed',
    `${path} was ${what} while Daybook had it open, so nothing can be stored any more: put the file back, or restore a copy and start again`,
  )
