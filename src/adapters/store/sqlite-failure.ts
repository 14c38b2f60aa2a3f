import { Failure } from '../../core/failure.ts'

const BUSY = 5
const CORRUPT = 11
const NOT_A_DATABASE = 26
const CONSTRAINT_PRIMARY_KEY = 1555

/** SQLite's own result code; extended codes keep the primary one in their low byte. */
function sqliteCode(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : undefined
}
const primaryCode = (error: unknown) => (sqliteCode(error) ?? 0) & 0xff

export const isBusy = (error: unknown): boolean => primaryCode(error) === BUSY
export const isDuplicateKey = (error: unknown): boolean => sqliteCode(error) === CONSTRAINT_PRIMARY_KEY

/** What SQLite says, in our words; anything that is not SQLite's flies on unchanged. */
export function translateSqliteError(error: unknown, file: string): unknown {
  if (sqliteCode(error) === undefined) return error
  const reason = (error as Error).message // only errors have SQLite's code
  switch (primaryCode(error)) {
    case CORRUPT:
    case NOT_A_DATABASE:
      return damagedFile(file, reason, error)
    case BUSY:
      return new Failure('store.failed', `${file} stayed locked by another process: nothing was written; try again`, { cause: error })
    default:
      return new Failure('store.failed', `${file}: ${reason}; nothing was written`, { cause: error })
  }
}

export const damagedFile = (file: string, reason: string, cause?: unknown) =>
  new Failure(
    'store.damaged',
    `${file} is not a sound Daybook database (${reason}): it was left as it is; restore a copy or choose another file`,
    {
      cause,
    },
  )
