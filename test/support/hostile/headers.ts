import { type Attempt, json } from './attempt.ts'
import { type HostileFixture, tokenOf } from './fixture.ts'
import { bearing } from './other-tenants.ts'

const list = '/v1/conversations'

const from = (what: string, headers: Readonly<Record<string, string>>, code: string, method = 'GET'): Attempt => ({
  description: what,
  mode: 'local',
  request: () => ({
    method,
    path: list,
    headers: method === 'POST' ? { ...json, ...headers } : headers,
    ...(method === 'POST' && { body: '{}' }),
  }),
  status: 403,
  code,
})

const token = (what: string, make: (fixture: HostileFixture) => string): Attempt => ({
  description: `a token: ${what}`,
  mode: 'bearer',
  request: (fixture) => ({ path: list, headers: bearing(make(fixture)) }),
  status: 401,
  code: 'token.refused',
})

const eve = { tenant: 'rival', project: 'main', sub: 'eve' }
const past = Math.floor(Date.now() / 1000) - 3_600

/** Requests with a forged origin, host or token. */
export const headerAttempts: readonly Attempt[] = [
  from('a foreign host name', { host: 'evil.test' }, 'host.refused'),
  from('a host name that begins like ours', { host: '127.0.0.1.evil.test' }, 'host.refused'),
  { ...from('a host name that ends like ours', { host: 'evil.test:80@127.0.0.1' }, 'request.broken'), status: 400 },
  { ...from('our host name with an invalid port', { host: 'localhost:99999999' }, 'request.broken'), status: 400 },
  from('a foreign host name with a forwarded local one', { host: 'evil.test', 'x-forwarded-host': 'localhost' }, 'host.refused'),
  from('the address 0.0.0.0', { host: '0.0.0.0' }, 'host.refused'),
  from('a page of another site', { origin: 'https://evil.test' }, 'origin.refused'),
  from('a POST from a page of another site', { origin: 'https://evil.test' }, 'origin.refused', 'POST'),
  from('a page without an origin', { origin: 'null' }, 'origin.refused', 'POST'),
  from('a page of another port', { origin: 'http://127.0.0.1:1' }, 'origin.refused', 'POST'),
  from('an image on another site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }, 'origin.refused'),
  from('a page of the same site but another origin', { 'sec-fetch-site': 'same-site' }, 'origin.refused'),
  from(
    'a CORS preflight of another site',
    { origin: 'https://evil.test', 'access-control-request-method': 'DELETE' },
    'origin.refused',
    'OPTIONS',
  ),
  { ...token('missing', () => ''), request: () => ({ path: list }) },
  { ...token('in the query', () => ''), request: (fixture) => ({ path: `${list}?access_token=${fixture.token}` }) },
  { ...token('in a cookie', () => ''), request: (fixture) => ({ path: list, headers: { cookie: `token=${fixture.token}` } }) },
  {
    ...token('as a password', () => ''),
    request: (fixture) => ({ path: list, headers: { authorization: `Basic ${btoa(`eve:${fixture.token}`)}` } }),
  },
  {
    ...token('sent twice', () => ''),
    request: (fixture) => ({ path: list, headers: { authorization: `Bearer ${fixture.token}, Bearer ${fixture.token}` } }),
  },
  token('expired', ({ tokenOf: make }) => make({ exp: past })),
  token('not valid yet', ({ tokenOf: make }) => make({ nbf: past + 7_200 })),
  token('that never expires', ({ tokenOf: make }) => make({ exp: undefined })),
  token('with a text as expiry', ({ tokenOf: make }) => make({ exp: 'never' })),
  token('of another issuer', ({ tokenOf: make }) => make({ iss: 'https://evil.test' })),
  token('for another service', ({ tokenOf: make }) => make({ aud: 'other-service' })),
  token('without a tenant', ({ tokenOf: make }) => make({ tenant: undefined })),
  token('with a list of tenants', ({ tokenOf: make }) => make({ tenant: ['acme'] })),
  token('without a user', ({ tokenOf: make }) => make({ sub: '' })),
  token('without a signature (alg none)', () => tokenOf(eve, { header: { alg: 'none' }, key: null })),
  token('without a signature (alg NONE)', () => tokenOf(eve, { header: { alg: 'NONE' }, key: null })),
  token('signed with another key', () => tokenOf(eve, { key: 'another secret of at least thirty-two bytes' })),
  token('signed with another algorithm', () => tokenOf(eve, { header: { alg: 'HS512' }, hash: 'sha512' })),
  token('with an embedded key', () => tokenOf(eve, { header: { alg: 'HS256', jwk: { kty: 'oct', k: 'c2VjcmV0' } }, key: 'secret' })),
  token('with a file path as key id', () => tokenOf(eve, { header: { alg: 'HS256', kid: '../../../../dev/null' }, key: 'x' })),
  token('changed after it was signed', (fixture) => {
    const [head, , signature] = fixture.token.split('.')
    const claims = Buffer.from(JSON.stringify({ ...eve, tenant: 'acme', sub: 'ann', exp: past + 7_200 })).toString('base64url')
    return `${head}.${claims}.${signature}`
  }),
  token('with half a signature', (fixture) => fixture.token.slice(0, -20)),
  token('of 12,000 characters', () => 'a'.repeat(12_000)),
  token('that is malformed', () => 'a.b.c'),
]
