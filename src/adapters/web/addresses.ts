import { BlockList, isIP } from 'node:net'

// Which addresses are public. The lists follow the registries of special-purpose addresses of IANA.

const privateIPv4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8',
  '100.64.0.0/10', // networks between providers and their customers (CGNAT)
  '127.0.0.0/8',
  '168.63.129.16/32', // the host of a virtual machine of Azure
  '169.254.0.0/16', // link-local, with the metadata services of most clouds
  '172.16.0.0/12',
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT
  '192.88.99.0/24', // relays from IPv6 to IPv4
  '192.168.0.0/16',
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast
]

/** All public IPv6 addresses are in this range. Mapped, translated (NAT64), link-local, local and multicast addresses are outside of it. */
const globalIPv6 = '2000::/3'

/** Parts of `globalIPv6` that are not public, or that contain an IPv4 address. */
const privateIPv6 = [
  '2001::/23', // protocol assignments, with Teredo, benchmarks and ORCHID
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4: contains an IPv4 address
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
]

const blocked = listOf([...privateIPv4, ...privateIPv6])
const global = listOf([globalIPv6])

/** Whether an address belongs to a machine on the public internet. False for a text that is not an IP address. */
export function isPublicAddress(address: string): boolean {
  const kind = isIP(address)
  if (kind === 4) return !blocked.check(address, 'ipv4')
  return kind === 6 && global.check(address, 'ipv6') && !blocked.check(address, 'ipv6')
}

/** A list of ranges such as `10.0.0.0/8` and of single addresses. Throws a `RangeError` for anything else. */
export function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', bits] = range.split('/')
    const kind = isIP(address)
    const width = bits === undefined ? (kind === 4 ? 32 : 128) : Number(bits)
    if (kind === 0 || !Number.isInteger(width) || width < 0 || width > (kind === 4 ? 32 : 128))
      throw new RangeError(`${range} is neither an IP address nor a range of addresses such as 10.0.0.0/8`)
    list.addSubnet(address, width, kind === 4 ? 'ipv4' : 'ipv6')
  }
  return list
}
