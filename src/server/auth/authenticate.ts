import { localScope, type Scope } from '../../core/scope.ts'
import type { RequestCode } from '../problem.ts'

/** Decides which caller a request belongs to, or rejects it. */
export type Authenticate = (head: RequestHead) => Promise<AuthResult>

/** The authenticated user. What a request may reach depends on this alone, never on its path or body. */
export interface Caller {
  readonly scope: Scope
  readonly roles: readonly string[]
}

export interface RequestHead {
  readonly method: string
  readonly url: URL
  header(name: string): string | undefined
}

type AuthResult =
  | { readonly ok: true; readonly caller: Caller }
  | { readonly ok: false; readonly status: 401 | 403; readonly code: RequestCode; readonly title: string }

/**
 * Authentication of a server on the loopback of a personal machine. Every program on the machine acts as the owner. Only web pages of
 * other sites are kept out. Such a page can reach the server by a host name that resolves to this machine, or by a request to another
 * origin. The header `Host` reveals the first, `Origin` and `Sec-Fetch-Site` reveal the second.
 */
export function createLocalAuth(): Authenticate {
  return async (head) => {
    if (!isLoopback(head.header('host'))) return deny(403, 'host.refused', 'This server accepts requests to localhost only.')
    if (!isSameOrigin(head)) return deny(403, 'origin.refused', 'This server does not accept requests from pages of other sites.')
    return { ok: true, caller: { scope: localScope, roles: ['owner'] } }
  }
}

const loopbackNames = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i

const isLoopback = (host: string | undefined): boolean => host !== undefined && loopbackNames.test(host)

function isSameOrigin(head: RequestHead): boolean {
  const site = head.header('sec-fetch-site')
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false
  const origin = head.header('origin')
  if (origin === undefined) return true // browsers send `Origin` with every request that can change something
  return origin === `http://${head.header('host')}` || origin === `https://${head.header('host')}`
}

export const deny = (status: 401 | 403, code: RequestCode, title: string): AuthResult => ({ ok: false, status, code, title })
