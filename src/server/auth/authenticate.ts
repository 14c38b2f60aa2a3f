import { localScope, type Scope } from '../../core/scope.ts'

/** Who is asking. Everything a request may reach follows from this, and from nothing in the request's path or body. */
export interface Caller {
  readonly scope: Scope
  readonly roles: readonly string[]
}

export interface RequestHead {
  readonly method: string
  readonly url: URL
  header(name: string): string | undefined
}

export type AuthResult =
  | { readonly ok: true; readonly caller: Caller }
  | { readonly ok: false; readonly status: 401 | 403; readonly code: string; readonly title: string }

/** Decides who is asking, or that nobody may. */
export type Authenticate = (head: RequestHead) => Promise<AuthResult>

export const deny = (status: 401 | 403, code: string, title: string): AuthResult => ({ ok: false, status, code, title })

/**
 * For a server on the loopback of somebody's own machine: whoever reaches it is its owner, so it must make sure that no web page does in
 * their name. A page of another site can send requests here, by a name that leads here (`Host`) or across origins (`Origin`,
 * `Sec-Fetch-Site`); all of these are refused.
 */
export function createLocalAuth(): Authenticate {
  return async (head) => {
    if (!isLoopback(head.header('host'))) return deny(403, 'host.refused', 'This server answers only to localhost.')
    if (!isSameOrigin(head)) return deny(403, 'origin.refused', 'This server does not answer pages of other sites.')
    return { ok: true, caller: { scope: localScope, roles: ['owner'] } }
  }
}

const loopbackNames = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i

export const isLoopback = (host: string | undefined): boolean => host !== undefined && loopbackNames.test(host)

function isSameOrigin(head: RequestHead): boolean {
  const site = head.header('sec-fetch-site')
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false
  const origin = head.header('origin')
  if (origin === undefined) return true // no page: browsers send it with everything that changes something
  return origin === `http://${head.header('host')}` || origin === `https://${head.header('host')}`
}
