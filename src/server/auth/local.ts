import { localScope } from '../../core/scope.ts'
import { type Authenticate, deny, type RequestHead } from './authenticate.ts'

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
