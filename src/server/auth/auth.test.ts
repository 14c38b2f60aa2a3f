import { createHmac, generateKeyPairSync } from 'node:crypto'
import { SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { createLocalAuth, operatorRole, type RequestHead } from './authenticate.ts'
import { createBearerAuth } from './bearer.ts'

const head = (headers: Readonly<Record<string, string>>): RequestHead => ({
  method: 'POST',
  url: new URL('http://127.0.0.1:4127/v1/conversations'),
  header: (name) => headers[name],
})

describe('a local server', () => {
  const accepts = async (headers: Readonly<Record<string, string>>) => (await createLocalAuth()(head(headers))).ok

  it('accepts requests to loopback names, without a page or from its own page', async () => {
    for (const host of ['localhost', 'localhost:4127', '127.0.0.1:4127', '[::1]:4127', 'LOCALHOST:1']) {
      expect(await accepts({ host }), host).toBe(true)
      expect(await accepts({ host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' }), host).toBe(true)
    }
  })

  it('takes its caller for an operator', async () => {
    expect(await createLocalAuth()(head({ host: 'localhost' }))).toMatchObject({ ok: true, caller: { roles: [operatorRole] } })
  })

  it('rejects other names that resolve to it, and pages of other sites', async () => {
    const hosts = [
      'evil.example',
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      '127.0.0.2',
      '10.0.0.1:80',
      'localhost:4127@evil',
      '',
    ]
    for (const host of hosts) expect(await accepts({ host }), host).toBe(false)
    expect(await accepts({})).toBe(false)
    expect(await createLocalAuth()(head({}))).toMatchObject({ title: expect.stringContaining('no header Host') })
    const host = 'localhost:4127'
    for (const origin of ['https://evil.example', 'null', 'http://localhost:9999', 'http://localhost', 'file://']) {
      expect(await accepts({ host, origin }), origin).toBe(false)
    }
    for (const site of ['cross-site', 'same-site']) expect(await accepts({ host, 'sec-fetch-site': site }), site).toBe(false)
  })
})

describe('bearer tokens', () => {
  const secret = 'a secret of at least thirty-two bytes'
  const claims = { tenant: 't1', project: 'p1', roles: ['admin', 7] }
  const later = () => Math.floor(Date.now() / 1000) + 60
  const signed = (more: object = {}, options: { sub?: string; exp?: number; alg?: string; key?: Uint8Array } = {}) =>
    new SignJWT({ ...claims, ...more })
      .setProtectedHeader({ alg: options.alg ?? 'HS256' })
      .setSubject(options.sub ?? 'u1')
      .setExpirationTime(options.exp ?? later())
      .sign(options.key ?? new TextEncoder().encode(secret))
  const raw = (header: object, payload: object, signature = '') =>
    `${[header, payload].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.${signature}`

  it('carry tenant, project and user', async () => {
    const authenticate = await createBearerAuth({ key: { kind: 'HS256', secret } })
    const exp = later()
    expect(await authenticate(head({ authorization: `Bearer ${await signed({}, { exp })}` }))).toEqual({
      ok: true,
      caller: { scope: { tenant: 't1', project: 'p1', user: 'u1' }, roles: ['admin'], expiresAtMs: (exp + 5) * 1000 },
    })
  })

  it('make an operator only by the name of the role in the claim `roles`', async () => {
    const authenticate = await createBearerAuth({ key: { kind: 'HS256', secret } })
    const isOperator = async (roles: unknown) => {
      const result = await authenticate(head({ authorization: `Bearer ${await signed({ roles })}` }))
      return result.ok && result.caller.roles.includes(operatorRole)
    }
    for (const roles of [['operator'], ['admin', 'operator'], 'operator', 'admin operator']) expect(await isOperator(roles)).toBe(true)
    const others = [
      undefined,
      null,
      [],
      ['Operator'],
      ['operators'],
      ['no operator'],
      'co-operator',
      'operator,admin',
      '',
      7,
      true,
      { operator: true },
    ]
    for (const roles of [...others, [['operator']], [{ value: 'operator' }]])
      expect(await isOperator(roles), JSON.stringify(roles)).toBe(false)
  })

  it('are rejected when expired, forged, unsigned, incomplete or issued for another server', async () => {
    const authenticate = await createBearerAuth({ key: { kind: 'HS256', secret }, issuer: 'us', audience: 'daybook' })
    const ours = { iss: 'us', aud: 'daybook' }
    const payload = { ...claims, ...ours, sub: 'u1', exp: later() }
    const other = new TextEncoder().encode('another secret of more than thirty-two bytes')
    const tokens = {
      expired: await signed(ours, { exp: 1 }),
      forged: await signed(ours, { key: other }),
      'alg none': raw({ alg: 'none' }, payload),
      'alg None': raw({ alg: 'None' }, payload),
      'another hash': await signed(ours, { alg: 'HS512', key: Buffer.alloc(64, secret) }),
      'no tenant': await signed({ ...ours, tenant: undefined }),
      'tenant of a number': await signed({ ...ours, tenant: 7 }),
      'no user': raw({ alg: 'HS256' }, { ...payload, sub: undefined }),
      'another issuer': await signed({ ...ours, iss: 'them' }),
      'another audience': await signed({ ...ours, aud: 'them' }),
      'not yet': await signed({ ...ours, nbf: later() }),
      'no token': '',
      nonsense: 'a.b.c',
      long: 'a'.repeat(10_000),
    }
    for (const [name, token] of Object.entries(tokens)) {
      expect(await authenticate(head({ authorization: `Bearer ${token}` })), name).toMatchObject({ ok: false, status: 401 })
    }
    expect(await authenticate(head({}))).toMatchObject({ ok: false, status: 401 })
    expect(await authenticate(head({ authorization: `Basic ${await signed(ours)}` }))).toMatchObject({ ok: false })
    expect(await authenticate(head({ authorization: `Bearer ${await signed(ours)}` }))).toMatchObject({ ok: true })
  })

  it('are rejected when signed with the public key as an HMAC secret', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const pem = publicKey.export({ type: 'spki', format: 'pem' }) as string
    const authenticate = await createBearerAuth({ key: { kind: 'EdDSA', publicKey: pem } })
    const body = raw({ alg: 'HS256' }, { ...claims, sub: 'u1', exp: later() }).slice(0, -1)
    const confused = `${body}.${createHmac('sha256', pem).update(body).digest('base64url')}`
    expect(await authenticate(head({ authorization: `Bearer ${confused}` }))).toMatchObject({ ok: false, status: 401 })
    const right = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'EdDSA' })
      .setSubject('u1')
      .setExpirationTime(later())
      .sign(privateKey)
    expect(await authenticate(head({ authorization: `Bearer ${right}` }))).toMatchObject({ ok: true })
  })

  it('need a secret of at least 32 bytes', async () => {
    await expect(createBearerAuth({ key: { kind: 'HS256', secret: 'short' } })).rejects.toThrow('at least 32 bytes')
  })
})
