import { localScope, type Scope } from '../../core/scope.ts'
import type { RequestCode } from '../problem.ts'

/** Finds the caller of a request, or rejects the request. */
export type Authenticate = (head: RequestHead) => Promise<AuthResult>

/** The authenticated user. A request can access only the data of its caller, whatever its path and its body contain. */
export interface Caller {
  readonly scope: Scope
  readonly roles: readonly string[]
  /**
   * When the server stops accepting the token of the caller, in milliseconds since 1970. At this time it ends the event streams of the
   * caller. Undefined if the server uses no tokens.
   */
  readonly expiresAtMs?: number
}

/**
 * Callers with this role are operators. They see everything in their conversations. All other callers are users. Users see no internal
 * content, such as notes that the agent writes for itself.
 */
export const operatorRole = 'operator'

export interface RequestHead {
  readonly method: string
  readonly url: URL
  header(name: string): string | undefined
}

type AuthResult =
  | { readonly ok: true; readonly caller: Caller }
  | { readonly ok: false; readonly status: 401 | 403; readonly code: RequestCode; readonly title: string }
  /** The request can not be authenticated at the moment. The token may be valid. */
  | { readonly ok: false; readonly status: 503; readonly code: 'auth.unavailable'; readonly title: string; readonly cause: unknown }

/** How long the keys may be used, and how often they are fetched. All times are in milliseconds. */
export interface KeySetTimes {
  /** How long one fetch may take. */
  readonly fetch: number
  /** The age at which the keys are fetched again. The old keys are used until the fetch has succeeded. */
  readonly fresh: number
  /**
   * The age up to which keys are used if they can not be fetched again. So a key that the issuer has withdrawn is accepted for at most this
   * time.
   */
  readonly usable: number
  /**
   * The pause after a fetch. In this time, a token with an unknown key does not cause another fetch. Otherwise each forged token could
   * cause a fetch.
   */
  readonly pause: number
}

/** Thrown when a token can not be checked, because its key is not known and the key set can not be fetched. The token may be valid. */
export class KeySetUnavailable extends Error {
  override readonly name = 'KeySetUnavailable'
}

/**
 * Authentication for a server on a personal machine that listens on the loopback address. Every program on the machine acts as the owner,
 * who is an operator. Only web pages of other sites are rejected. Such a page can reach the server in two ways:
 *
 * - by a host name that resolves to this machine. The header `Host` shows this
 * - by a request to another origin. The headers `Origin` and `Sec-Fetch-Site` show this
 *
 * Pages of the given origins are accepted.
 */
export function createLocalAuth(origins: readonly string[] = []): Authenticate {
  return async (head) => {
    const host = head.header('host')
    if (!isLoopback(host)) {
      const missing = host === undefined ? ' This request has no header Host.' : ''
      return deny(403, 'host.refused', `This server accepts requests to localhost only.${missing}`)
    }
    if (!origins.includes(head.header('origin') ?? '') && !isSameOrigin(head))
      return deny(403, 'origin.refused', 'This server does not accept requests from pages of other sites.')
    return { ok: true, caller: { scope: localScope, roles: [operatorRole] } }
  }
}

const loopbackNames = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i

const isLoopback = (host: string | undefined): boolean => host !== undefined && loopbackNames.test(host)

function isSameOrigin(head: RequestHead): boolean {
  const site = head.header('sec-fetch-site')
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false
  const origin = head.header('origin')
  // browsers send `Origin` with every request that can change data. So this request changes no data, or it does not come from a browser
  if (origin === undefined) return true
  return origin === `http://${head.header('host')}` || origin === `https://${head.header('host')}`
}

export const deny = (status: 401 | 403, code: RequestCode, title: string): AuthResult => ({ ok: false, status, code, title })
