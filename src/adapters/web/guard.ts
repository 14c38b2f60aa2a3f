import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { isPublicAddress, listOf } from './addresses.ts'

// The guard decides which addresses a model may request. It checks an address in two steps: `checkUrl` checks the text of the URL, and
// `resolveHost` checks every IP address of the host. The caller connects to the addresses that `resolveHost` returned and does not look up
// the name again. Otherwise a hostile name server could give a public address for the check, and a private one for the connection.

/** Finds the IP addresses of a host. */
export type Resolve = (host: string) => Promise<readonly { readonly address: string }[]>

/** Which hosts may be requested, and how their addresses are found. */
export interface GuardOptions {
  /**
   * Hosts of a private network that may be requested: a name (`wiki.example`), an IP address, or a range (`10.1.0.0/16`), each with an
   * optional port (`wiki.example:8080`, `[fd00::1]:8080`). Without a port, the ports 80 and 443 are meant.
   */
  readonly allow?: readonly string[]
  /** Default: the resolver of the system. */
  readonly resolve?: Resolve
}

/** Says why the guard does not allow an address. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
}

export interface Guard {
  /** Parses an address. Throws a `Refusal` if its text alone shows that it is not allowed. */
  checkUrl(text: string): URL
  /** The IP addresses of the host, all of them allowed. Throws a `Refusal` if one of them is not allowed. */
  resolveHost(url: URL): Promise<readonly PinnedAddress[]>
}

export interface PinnedAddress {
  readonly address: string
  readonly family: 4 | 6
}

export function createGuard({ allow = [], resolve = systemResolve }: GuardOptions = {}): Guard {
  const exceptions = allow.map(parseException)
  const isAllowed = (host: string, address: string | undefined, port: number) =>
    exceptions.some((exception) => exception.matches(host, address, port))

  return {
    checkUrl(text) {
      const url = parseUrl(text)
      const host = hostOf(url)
      const port = portOf(url)
      const knownPort = defaultPorts.has(port) || exceptions.some((exception) => exception.port === port)
      if (!knownPort) throw new Refusal(`the port ${port} is not allowed; only 80 and 443 are`)
      if (isIP(host) !== 0) requireAllowed(isAllowedAddress(host, host, port))
      else if (isLocalName(host)) requireAllowed(isAllowed(host, undefined, port))
      return url
    },
    async resolveHost(url) {
      const host = hostOf(url)
      const port = portOf(url)
      const answers = isIP(host) === 0 ? await resolve(host) : [{ address: host }]
      if (answers.length === 0) throw new Error(`the host ${host} has no IP address`)
      for (const { address } of answers) requireAllowed(isAllowedAddress(host, address, port))
      return answers.map(({ address }) => ({ address, family: isIP(address) === 6 ? 6 : 4 }))
    },
  }

  function isAllowedAddress(host: string, address: string, port: number): boolean {
    return isAllowed(host, address, port) || (defaultPorts.has(port) && isPublicAddress(address))
  }
}

const defaultPorts: ReadonlySet<number> = new Set([80, 443])

function requireAllowed(allowed: boolean): void {
  if (!allowed) throw new Refusal('the address does not lead to the public internet')
}

const systemResolve: Resolve = (host) => lookup(host, { all: true, verbatim: true })

/** The longest address that is requested. */
const maxUrlLength = 4_000

function parseUrl(text: string): URL {
  if (text.length > maxUrlLength) throw new Refusal(`the address is longer than ${maxUrlLength} characters`)
  // `URL` normalizes hosts: `0x7f.1`, `2130706433` and `①②⑦.0.0.1` all become `127.0.0.1`
  const url = URL.parse(text)
  if (!url) throw new Refusal('this is not a complete address such as https://example.com/page')
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new Refusal('only addresses with http and https are allowed')
  if (url.username !== '' || url.password !== '') throw new Refusal('an address with a user name or a password is not allowed')
  return url
}

/** The host without brackets and without dots at its end. */
export function hostOf({ hostname }: URL): string {
  if (hostname.startsWith('[')) return hostname.slice(1, -1)
  let end = hostname.length
  while (end > 0 && hostname[end - 1] === '.') end--
  return hostname.slice(0, end)
}

export const portOf = ({ port, protocol }: URL): number => (port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port))

/**
 * Whether a name belongs to a private network by convention. Such a name is not looked up, because the look-up alone would reveal the name.
 */
function isLocalName(host: string): boolean {
  const labels = host.split('.')
  return labels.length === 1 || localDomains.has(labels.at(-1) ?? '') || host.endsWith('.home.arpa')
}

const localDomains: ReadonlySet<string> = new Set([
  'localhost',
  'local',
  'internal',
  'intranet',
  'private',
  'corp',
  'home',
  'lan',
  'test',
  'onion',
])

/** An entry of the option `allow`. */
interface Exception {
  /** Undefined: the ports 80 and 443. */
  readonly port: number | undefined
  matches(host: string, address: string | undefined, port: number): boolean
}

function parseException(entry: string): Exception {
  const { host, port } = splitPort(entry.trim().toLowerCase())
  const fits = (given: number) => (port === undefined ? defaultPorts.has(given) : given === port)
  if (isIP(host.split('/')[0] ?? '') !== 0) {
    const list = listOf([host])
    const contains = (address: string) => list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
    return { port, matches: (_, address, given) => fits(given) && address !== undefined && isIP(address) !== 0 && contains(address) }
  }
  const url = URL.parse(`http://${host}/`)
  if (!url || url.host !== host) throw new RangeError(`${entry} is not a host, an IP address or a range of addresses such as 10.0.0.0/8`)
  return { port, matches: (name, _, given) => fits(given) && name === host }
}

/** Splits `host:port`. An IPv6 address with a port is in brackets. */
function splitPort(entry: string): { readonly host: string; readonly port: number | undefined } {
  const end = entry.lastIndexOf(':')
  const isBare6 = isIP(entry.split('/')[0] ?? '') === 6
  if (end < 0 || isBare6 || entry.endsWith(']')) return { host: withoutBrackets(entry), port: undefined }
  const port = Number(entry.slice(end + 1))
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new RangeError(`${entry} does not end in a port from 1 to 65535`)
  return { host: withoutBrackets(entry.slice(0, end)), port }
}

const withoutBrackets = (host: string) => (host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host)
