import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, expect, it } from 'vitest'
import { bearer, tokenOf } from '../support/hostile/fixture.ts'
import { closeServers, openServer } from '../support/server-fixture.ts'

const keys = createServer((_, response) => void response.writeHead(500).end())
await new Promise<void>((resolve) => void keys.listen(0, '127.0.0.1', resolve))
afterAll(() => void keys.close())
afterEach(closeServers)

const claims = { tenant: 'acme', project: 'main', sub: 'ann' }
const bearing = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

it('while the key set fails, a token gets 503 and is told to try again, and paths without authentication work', async () => {
  const key = { kind: 'jwks', url: `http://127.0.0.1:${(keys.address() as AddressInfo).port}/` } as const
  const { server, lines } = await openServer({ server: { auth: { kind: 'bearer', key } } })
  const token = tokenOf(claims, { header: { alg: 'ES256', kid: 'a' } })
  const response = await fetch(`${server.url}/v1/conversations`, bearing(token))
  expect(response.status).toBe(503)
  expect(await response.json()).toMatchObject({ code: 'auth.unavailable' })
  expect(response.headers.get('retry-after')).toBe('1')
  expect(response.headers.get('www-authenticate')).toBe(null)
  expect(lines.join('\n')).toContain('status 500') // the log says why
  expect((await fetch(`${server.url}/health`, bearing(token))).status).toBe(200)
  expect((await fetch(`${server.url}/v1/conversations`)).status).toBe(401)
})

it('an event stream ends when the token of its client expires, in every format', async () => {
  const { server } = await openServer({ server: { auth: bearer } })
  const create = { ...bearing(tokenOf(claims)), method: 'POST', body: '{"id":"c1"}' }
  await fetch(`${server.url}/v1/conversations`, { ...create, headers: { ...create.headers, 'content-type': 'application/json' } })
  const expired = Math.floor(Date.now() / 1000) - 1 // a token is accepted for five seconds after its end, because clocks differ
  const follow = async (as: string) => {
    const response = await fetch(`${server.url}/v1/conversations/c1/events?as=${as}`, bearing(tokenOf({ ...claims, exp: expired })))
    expect(response.status).toBe(200)
    return response.text() // resolves when the stream has ended
  }
  const [native] = await Promise.all(['native', 'chat', 'ag-ui', 'ui-message'].map(follow))
  expect(native).toContain('event: resync')
  expect((await fetch(`${server.url}/v1/conversations/c1`, bearing(tokenOf({ ...claims, exp: expired - 10 })))).status).toBe(401)
})
