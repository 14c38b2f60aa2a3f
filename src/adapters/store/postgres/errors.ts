import { errorMessage, Failure } from '../../../core/failure.ts'
import { connectionAdvice } from './advice.ts'

/** Whether the server could not be reached or ended the connection. The statement may have been carried out. */
export function isConnectionError(error: unknown): boolean {
  const { code = '', message = '' } = (error ?? {}) as { code?: string; message?: string }
  if (/^(?:08|57P0)/.test(code) || endedConnections.has(code)) return true
  return (
    /^(?:ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EHOSTUNREACH)/.test(code) ||
    /connection (?:terminated|ended|error)|timeout exceeded|not queryable/i.test(message) ||
    message === SILENT
  )
}

/** The message of the package `pg` for a statement whose answer did not arrive in time. */
const SILENT = 'Query read timeout'

/** The code of an error of a server that can only be read. */
export const READ_ONLY = '25006'

/**
 * Codes of errors after which a new connection may succeed. The server has no connection left (53300), or it is a replica, perhaps since a
 * failover, or it has ended the connection because a transaction took too long (25P03, 25P04).
 */
const endedConnections: ReadonlySet<string> = new Set(['53300', READ_ONLY, '25P03', '25P04'])

/**
 * Codes of errors with which the server rolls back a transaction because of a conflict with another transaction (40001, 40P01), or because
 * of `lock_timeout` (55P03) or `statement_timeout` (57014). Nothing was committed, and a new attempt can succeed.
 */
const rolledBack: ReadonlySet<string> = new Set(['40001', '40P01', '55P03', '57014'])
const isRolledBack = (error: unknown): boolean => rolledBack.has((error as { code?: string } | null)?.code ?? '')

/** Makes an error of the package `pg` a `store.failed`, with advice. Its details say whether another attempt can succeed. */
export function translateError(error: unknown): unknown {
  if (error instanceof Failure) return error
  const advice = connectionAdvice(error)
  const text =
    errorMessage(error) === SILENT ? 'the server has not answered in time: check the server and the network' : errorMessage(error)
  const message = `PostgreSQL: ${text}${advice === undefined ? '' : `: ${advice}`}`
  return new Failure('store.failed', message, {
    cause: error,
    details: { connectionLost: isConnectionError(error) || isRolledBack(error) },
  })
}
