import { isObject } from '../../core/json.ts'

/**
 * The message of an error that the server has sent itself. Undefined for other errors. Errors with two of the JSON-RPC codes are not from
 * the server: the SDK uses these codes for its own errors.
 */
export function refusalIn(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.constructor.name !== 'McpError') return undefined
  const { code } = error as Error & { readonly code: number }
  return code === CONNECTION_CLOSED || code === REQUEST_TIMEOUT ? undefined : error.message
}

const CONNECTION_CLOSED = -32_000
const REQUEST_TIMEOUT = -32_001

/** What went wrong with a server, as a clause such as `it answered with the status 500`. */
export function errorText(error: unknown): string {
  const status = isObject(error) ? error.code : undefined
  if (typeof status === 'number' && status >= 400 && status < 600) return `it answered with the status ${status}`
  if (isObject(error) && Array.isArray(error.issues)) return 'it answered with something that is not MCP' // an error of the SDK's schemas
  const message = error instanceof Error ? error.message : String(error)
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : ''
  return message === 'fetch failed' && cause !== '' ? `it can not be reached: ${cause}` : message
}
