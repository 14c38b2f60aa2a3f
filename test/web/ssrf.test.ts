import type { AddressInfo } from 'node:net'
import { createServer } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createFetcher } from '../../src/adapters/web/fetcher.ts'
import { type LocalDns, startDns } from '../support/web/local-dns.ts'
import { type LocalSite, redirectTo, startSite } from '../support/web/local-site.ts'

/** A server that no request may reach. It listens on all addresses of this machine, so every spelling would find it. */
let secret: LocalSite
/** A server that may be reached, because the allow list has its address. Its pages lead to the secret one. */
let open: LocalSite
let dns: LocalDns

const signal = new AbortController().signal

beforeAll(async () => {
  secret = await startSite({ '/': 'the secret' }, '0.0.0.0')
  const target = (host: string) => redirectTo(`http://${host}:${secret.port}/`)
  open = await startSite({
    '/': 'hello',
    '/to-literal': target('127.0.0.2'),
    '/to-decimal': target('2130706434'),
    '/to-mapped': target('[::ffff:7f00:2]'),
    '/to-name': target('inside.example'),
    '/to-scheme': redirectTo('file:///etc/passwd'),
    '/to-gopher': redirectTo('gopher://127.0.0.1:70/'),
    '/to-userinfo': redirectTo('http://user:word@public.example/'),
    '/to-metadata': redirectTo('http://169.254.169.254/latest/meta-data/', 307),
    '/to-port': redirectTo('http://public.example:22/', 308),
    '/chain': redirectTo('/chain-2', 303),
    '/chain-2': target('10.0.0.1'),
    '/loop': redirectTo('/loop', 301),
  })
  dns = await startDns({
    'open.example': ['127.0.0.1'],
    'inside.example': ['127.0.0.2'],
    'inside6.example': ['::1'],
    'mapped.example': ['::ffff:7f00:2'],
    'mixed.example': ['93.184.215.14', '127.0.0.2'],
    'mixed6.example': ['93.184.215.14', 'fd00::1'],
    'alias.example': ['inside.example'],
    'metadata.example': ['169.254.169.254'],
    'carrier.example': ['100.64.0.1'],
    'nat64.example': ['64:ff9b::7f00:2'],
    'turning.example': [['127.0.0.1'], ['127.0.0.2']],
    'inward.example': [['127.0.0.2'], ['127.0.0.1']],
  })
})
afterAll(async () => {
  await secret.close()
  await open.close()
  dns.close()
})

/**
 * The fetcher of these tests. The ports of both servers are known to it, so that it is the address that is refused, and not the port. Only
 * the address of the open server is allowed.
 */
const fetcher = () =>
  createFetcher({
    allow: [open.host, `some.example:${secret.port}`],
    resolve: dns.resolve,
    robots: 'ignore',
    limits: { connectMs: 2_000, headersMs: 2_000, totalMs: 5_000 },
  })

const refused = { ok: false, reason: 'refused' }

/** Spellings of hosts. Each is requested with the port of the secret server and with the usual port. */
const hosts = [
  '127.0.0.2',
  '127.1',
  '127.0.2',
  '2130706434', // decimal
  '017700000002', // octal
  '0177.0.0.2',
  '0177.0.0.02',
  '0x7f000002', // hexadecimal
  '0x7f.0.0.2',
  '0x7F.1',
  '0x7f.0x0.0x0.0x2',
  '127.0.0.2.', // a dot at the end
  '127.0.0.2%2e',
  '%31%32%37.0.0.2', // escaped
  '１２７.０.０.２', // full-width digits
  '①②⑦.⓪.⓪.②',
  '127。0。0。2', // dots of other scripts
  '127．0．0．2',
  '0',
  '0.0.0.0',
  '00000.0',
  'localhost',
  'LOCALHOST',
  'localhost.',
  'a.localhost',
  'ⓛⓞⓒⓐⓛⓗⓞⓢⓣ',
  'router',
  'printer.local',
  'metadata.google.internal',
  'wiki.corp',
  'box.home.arpa',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::]',
  '[::ffff:127.0.0.2]', // IPv4 in IPv6
  '[::ffff:7f00:2]',
  '[::ffff:0:127.0.0.2]',
  '[::127.0.0.2]',
  '[64:ff9b::127.0.0.2]', // NAT64
  '[64:ff9b:1::7f00:2]',
  '[2002:7f00:2::]', // 6to4
  '[2001:0:7f00:2::]', // Teredo
  '[2001:db8::1]',
  '[2001:2::1]',
  '[fc00::1]',
  '[fd00:ec2::254]',
  '[fe80::1]',
  '[fe80::1%25eth0]', // a zone
  '[fec0::1]',
  '[ff02::1]',
  '10.0.0.1',
  '100.64.0.1',
  '100.100.100.200',
  '168.63.129.16',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.8',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.0.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
] as const

describe('a request into a private network', () => {
  it.each(hosts)('is refused for the host %s', async (host) => {
    const before = secret.requests.length
    for (const url of [`http://${host}:${secret.port}/`, `http://${host}/`, `https://${host}/`])
      expect(await fetcher().get(url, { signal }), url).toMatchObject(refused)
    expect(secret.requests.length).toBe(before)
  })

  it.each([
    'file:///etc/passwd',
    'ftp://public.example/',
    'gopher://public.example/',
    'data:text/html,hello',
    'javascript:alert(1)',
    'http:///x',
    'http://',
    'https://exa mple.com/',
    '//public.example/',
    'public.example',
    '',
    'http://user@public.example/',
    'http://user:word@public.example/',
    'http://public.example@127.0.0.2/',
    'http://127.0.0.2\\@public.example/',
    'http://public.example:22/',
    'http://public.example:8080/',
    'https://public.example:6379/',
    `http://public.example/${'a'.repeat(5_000)}`,
  ])('is refused for the address %.60s', async (url) => {
    expect(await fetcher().get(url, { signal })).toMatchObject(refused)
    expect(dns.questions).not.toContain('public.example')
  })

  it.each([
    'inside.example',
    'inside6.example',
    'mapped.example',
    'mixed.example', // one answer of several is private
    'mixed6.example',
    'alias.example', // an alias (CNAME) of a private host
    'metadata.example',
    'carrier.example',
    'nat64.example',
    'INSIDE.EXAMPLE',
    'inside.example.',
    'inward.example',
  ])('is refused for the name %s, whose addresses are private', async (name) => {
    const before = secret.requests.length
    for (const url of [`http://${name}/`, `http://${name}:${secret.port}/`])
      expect(await fetcher().get(url, { signal }), url).toMatchObject(refused)
    expect(secret.requests.length).toBe(before)
  })

  it.each([
    ...['/to-literal', '/to-decimal', '/to-mapped', '/to-name', '/to-scheme', '/to-gopher', '/to-userinfo', '/to-metadata', '/to-port'],
    ...['/chain', '/loop'],
  ])('is refused after the redirect %s', async (path) => {
    const before = secret.requests.length
    expect(await fetcher().get(open.url(path), { signal })).toMatchObject(refused)
    expect(secret.requests.length).toBe(before)
  })

  it('never tells the private address of a name', async () => {
    for (const name of ['inside.example', 'mixed.example', 'metadata.example'])
      expect(JSON.stringify(await fetcher().get(`http://${name}/`, { signal }))).not.toMatch(/127\.0\.0|169\.254/)
  })
})

describe('a name whose answers change', () => {
  it('is looked up once, and the connection goes to the checked address', async () => {
    const before = secret.requests.length
    const answer = await fetcher().get(`http://turning.example:${open.port}/`, { signal })
    expect(answer).toMatchObject({ ok: true, status: 200 })
    expect(open.requests.at(-1)).toBe('GET /')
    expect(open.headers.at(-1)?.host).toBe(`turning.example:${open.port}`)
    expect(dns.questions.filter((name) => name === 'turning.example')).toHaveLength(1)
    // the second request gets the private answer
    expect(await fetcher().get(`http://turning.example:${open.port}/`, { signal })).toMatchObject(refused)
    expect(secret.requests.length).toBe(before)
  })
})

describe('an encrypted connection', () => {
  it('goes to the checked address and names the host, but never an IP address', async () => {
    const names: string[] = []
    const server = createServer({
      SNICallback(name, done) {
        names.push(name)
        done(new Error('this server has no certificate'))
      },
    })
    let connections = 0
    server.on('connection', () => void connections++)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const warnings: string[] = []
    const onWarning = ({ message }: Error) => void warnings.push(message)
    process.on('warning', onWarning)
    const { port } = server.address() as AddressInfo
    const encrypted = createFetcher({ allow: [`127.0.0.1:${port}`], resolve: dns.resolve, robots: 'ignore' })
    for (const host of ['open.example', 'open.example.', '127.0.0.1'])
      expect(await encrypted.get(`https://${host}:${port}/`, { signal })).toMatchObject({ ok: false, reason: 'failed' })
    await new Promise<void>((resolve) => void setImmediate(resolve)) // warnings are emitted later
    process.off('warning', onWarning)
    server.close()
    expect(names).toEqual(['open.example', 'open.example'])
    expect(connections).toBe(3)
    expect(warnings).toEqual([])
  })
})

describe('the allow list', () => {
  const get = (allow: readonly string[], url: string) =>
    createFetcher({ allow, resolve: dns.resolve, robots: 'ignore' }).get(url, { signal })

  it('allows an address with its port, and nothing else on that machine', async () => {
    expect(await get([open.host], open.url('/'))).toMatchObject({ ok: true })
    expect(await get(['127.0.0.1'], open.url('/'))).toMatchObject(refused)
    expect(await get([open.host], `http://127.0.0.1:${secret.port}/`)).toMatchObject(refused)
    expect(await get([open.host], `http://127.0.0.2:${open.port}/`)).toMatchObject(refused)
  })

  it('allows a name and a range, each with a port', async () => {
    expect(await get([`open.example:${open.port}`], `http://open.example:${open.port}/`)).toMatchObject({ ok: true })
    expect(await get([`127.0.0.0/30:${open.port}`], `http://open.example:${open.port}/`)).toMatchObject({ ok: true })
    expect(await get([`127.0.0.0/30:${open.port}`], `http://127.0.0.4:${open.port}/`)).toMatchObject(refused)
  })

  it('does not let a page lead to another host', async () => {
    expect(await get([open.host], open.url('/to-literal'))).toMatchObject(refused)
  })

  it.each(['', 'a b', '10.0.0.0/33', '10.0.0.0/x', 'host:0', 'host:99999', 'http://host/', 'host/path', '[::1'])(
    'rejects the entry %j',
    (entry) => expect(() => createFetcher({ allow: [entry] })).toThrow(RangeError),
  )
})
