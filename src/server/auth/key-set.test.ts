import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeEach, expect, it } from 'vitest'
import type { Authenticate, KeySetTimes } from './authenticate.ts'
import { createBearerAuth } from './bearer.ts'

type KeyPair = Awaited<ReturnType<typeof generateKeyPair>>

/** A real server with a key set. Each test decides how it responds. */
let respond: RequestListener
let fetches = 0
const server = createServer((request, response) => {
  fetches++
  respond(request, response)
})
await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`
afterAll(() => {
  server.closeAllConnections()
  server.close()
})
beforeEach(() => {
  fetches = 0
})

const [first, second, stranger] = await Promise.all([0, 1, 2].map(() => generateKeyPair('ES256')))
type NamedKey = readonly [pair: KeyPair | undefined, kid: string | undefined]
const keySet = (...pairs: readonly NamedKey[]) =>
  Promise.all(
    pairs.map(async ([pair, kid]) => ({
      ...(await exportJWK((pair as KeyPair).publicKey)),
      alg: 'ES256',
      ...(kid !== undefined && { kid }),
    })),
  )
const serving = async (...pairs: readonly NamedKey[]): Promise<RequestListener> => {
  const body = JSON.stringify({ keys: await keySet(...pairs) })
  return (_, response) => void response.setHeader('content-type', 'application/json').end(body)
}
const token = (pair: KeyPair | undefined, kid?: string) =>
  new SignJWT({ tenant: 't', project: 'p' })
    .setProtectedHeader({ alg: 'ES256', ...(kid !== undefined && { kid }) })
    .setSubject('u')
    .setExpirationTime('1h')
    .sign((pair as KeyPair).privateKey)

const times: KeySetTimes = { fetch: 200, fresh: 60_000, usable: 60_000, pause: 0 }
const create = (more: Partial<KeySetTimes> = {}) => createBearerAuth({ key: { kind: 'jwks', url } }, { ...times, ...more })
async function statusOf(authenticate: Authenticate, bearer: string): Promise<number> {
  const header = (name: string) => (name === 'authorization' ? `Bearer ${bearer}` : undefined)
  const result = await authenticate({ method: 'GET', url: new URL('http://x.test/'), header })
  return result.ok ? 200 : result.status
}

const failures: Readonly<Record<string, RequestListener>> = {
  'an error': (_, response) => void response.writeHead(500).end(),
  'a redirect': (_, response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
  'no response': () => {},
  'a body that never ends': (_, response) => void response.writeHead(200).write('{"keys":['),
  'a body without end': (_, response) => {
    const fill = () => {
      while (response.write(' '.repeat(65_536)));
      response.once('drain', fill)
    }
    fill()
  },
  'a closed connection': (request) => void request.socket.destroy(),
  'no JSON': (_, response) => void response.end('<html>'),
  'JSON that is not a key set': (_, response) => void response.end('{"keys":7}'),
  'a key set without keys': (_, response) => void response.end('{"keys":[]}'),
}

it.each(Object.entries(failures))('a valid token gets 503 when the key set was never fetched: %s', async (_, failure) => {
  respond = failure
  expect(await statusOf(await create(), await token(first, 'a'))).toBe(503)
})

it.each(Object.entries(failures))('a token with a known key is accepted while the key set fails: %s', async (_, failure) => {
  const authenticate = await create({ fresh: 0 })
  respond = await serving([first, 'a'])
  expect(await statusOf(authenticate, await token(first, 'a'))).toBe(200)
  respond = failure
  for (let times = 0; times < 3; times++) expect(await statusOf(authenticate, await token(first, 'a'))).toBe(200)
  expect(await statusOf(authenticate, await token(second, 'b'))).toBe(503) // the issuer may have a new key
  expect(await statusOf(authenticate, await token(stranger, 'a'))).toBe(401)
})

it('old keys are not used for ever', async () => {
  const authenticate = await create({ usable: 0 })
  respond = await serving([first, 'a'])
  await statusOf(authenticate, await token(first, 'a'))
  respond = failures['an error'] as RequestListener
  expect(await statusOf(authenticate, await token(first, 'a'))).toBe(503)
})

it('a new key is fetched when a token names it, and a withdrawn key is no longer accepted', async () => {
  const authenticate = await create()
  respond = await serving([first, 'a'])
  expect(await statusOf(authenticate, await token(first, 'a'))).toBe(200)
  respond = await serving([second, 'b'])
  expect(await statusOf(authenticate, await token(second, 'b'))).toBe(200)
  expect(await statusOf(authenticate, await token(first, 'a'))).toBe(401)
})

it('many forged tokens do not cause a fetch each', async () => {
  const authenticate = await create({ pause: 60_000 })
  respond = await serving([first, 'a'])
  for (let number = 0; number < 20; number++) expect(await statusOf(authenticate, await token(stranger, `k${number}`))).toBe(401)
  expect(fetches).toBe(1)
  const failing = await create({ pause: 60_000 })
  respond = failures['an error'] as RequestListener
  for (let number = 0; number < 20; number++) expect(await statusOf(failing, await token(stranger, `k${number}`))).toBe(503)
  expect(fetches).toBe(2)
})

it('a token without the name of its key is checked with every key', async () => {
  const authenticate = await create()
  respond = await serving([first, undefined], [second, undefined])
  for (const pair of [first, second]) expect(await statusOf(authenticate, await token(pair))).toBe(200)
  expect(await statusOf(authenticate, await token(stranger))).toBe(401)
})

it('a malformed key in the set does not make its token invalid, and other keys work', async () => {
  const authenticate = await create()
  const [good] = await keySet([first, 'a'])
  respond = (_, response) => void response.end(JSON.stringify({ keys: [good, { ...good, kid: 'b', x: 'AAAA' }] }))
  expect(await statusOf(authenticate, await token(first, 'a'))).toBe(200)
  expect(await statusOf(authenticate, await token(second, 'b'))).toBe(503)
})
