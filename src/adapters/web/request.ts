import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { acceptedEncodings } from './body.ts'
import { hostOf, type PinnedAddress, Refusal } from './guard.ts'

/** How many milliseconds each step of a request may take. */
export interface TimeLimits {
  readonly connectMs: number
  /** From the sent request to the complete headers of the response. */
  readonly headersMs: number
  /** One call of `get` with all its redirects. */
  readonly totalMs: number
}

/** A step took too long. */
export class TimedOut extends Error {
  override readonly name = 'TimedOut'
}

export interface RequestOptions {
  readonly accept: string
  readonly userAgent: string
  readonly addresses: readonly PinnedAddress[]
  readonly limits: TimeLimits
  readonly signal: AbortSignal
}

/**
 * Sends one GET request to a host at the given IP addresses, without looking up its name. The certificate is checked against the name. The
 * caller reads or destroys the body of the response.
 */
export function sendRequest(url: URL, { accept, userAgent, addresses, limits, signal }: RequestOptions): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const send = url.protocol === 'https:' ? requestHttps : requestHttp
  const request = send(url, {
    agent: false, // every request has a connection of its own, to an address that was checked for this request
    lookup: pinnedLookup(addresses),
    servername: isIP(hostOf(url)) === 0 ? hostOf(url) : '', // the standard allows no IP address here
    headers: { 'user-agent': userAgent, accept, 'accept-encoding': acceptedEncodings, 'accept-language': 'en, *;q=0.5' },
    signal,
  })
  let timer = setTimeout(() => request.destroy(new TimedOut('no connection in time')), limits.connectMs)
  const wait = () => {
    clearTimeout(timer)
    timer = setTimeout(() => request.destroy(new TimedOut('no response in time')), limits.headersMs)
  }
  request.once('socket', (socket) => {
    const connected = () => {
      const { remoteAddress } = socket
      const isPinned = addresses.some(({ address }) => address === remoteAddress || `::ffff:${address}` === remoteAddress)
      if (isPinned) wait()
      else request.destroy(new Refusal('the connection does not lead to the checked address'))
    }
    socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', connected)
  })
  request.once('response', resolve).once('error', reject)
  request.end()
  return promise.finally(() => clearTimeout(timer))
}

/** A replacement for the lookup of names. It knows only the given addresses. */
const pinnedLookup =
  (addresses: readonly PinnedAddress[]): LookupFunction =>
  (_, options, done) => {
    const [first] = addresses
    if (options.all)
      done(
        null,
        addresses.map(({ address, family }) => ({ address, family })),
      )
    else if (first) done(null, first.address, first.family)
    else done(new Error('no address'), '')
  }
