import type { MiddlewareHandler } from 'hono'
import type { Env } from './handler.ts'

const methods = 'GET, HEAD, POST, PUT, PATCH, DELETE'
const requestHeaders = 'authorization, content-type, idempotency-key, if-match, if-none-match, if-range, last-event-id, range'
const responseHeaders =
  'accept-ranges, content-disposition, content-range, daybook-budget-money-left, daybook-budget-tokens-left, etag, location, ratelimit, ratelimit-policy, retry-after, x-request-id, x-vercel-ai-ui-message-stream'

/** For how many seconds a browser may remember the response to a preflight request. */
const preflightSeconds = 600

/**
 * Lets pages of these origins read the responses (CORS). A preflight request is answered before the authentication, because browsers send
 * it without a token. Responses to pages of all other origins have no `access-control-*` header, so browsers do not let these pages read
 * the responses.
 */
export function allowOrigins(origins: readonly string[]): MiddlewareHandler<Env> {
  const allowed = new Set(origins)
  return async (c, next) => {
    const origin = c.req.header('origin')
    if (origin === undefined || !allowed.has(origin)) return next()
    if (c.req.method === 'OPTIONS' && c.req.header('access-control-request-method') !== undefined) {
      return c.body(null, 204, {
        'access-control-allow-origin': origin,
        'access-control-allow-methods': methods,
        'access-control-allow-headers': requestHeaders,
        'access-control-max-age': String(preflightSeconds),
        vary: 'origin',
      })
    }
    await next()
    c.header('access-control-allow-origin', origin)
    c.header('access-control-expose-headers', responseHeaders)
    c.header('vary', 'origin', { append: true })
    return
  }
}
