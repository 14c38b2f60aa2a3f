import { afterEach, describe, expect, it } from 'vitest'
import { closeServers, openServer } from '../../../test/support/server-fixture.ts'
import { createClient } from '../../client/client.ts'
import { createSessions } from './sessions.ts'

afterEach(closeServers)

const auth = { kind: 'bearer', key: { kind: 'HS256', secret: 'a secret that is long enough for HS256' } } as const

describe('a link to sign in', () => {
  it('gives one token for its code, which works like any other token', async () => {
    const { server, client } = await openServer({ server: { auth } })
    const link = new URL(server.signInLink() ?? '')
    expect([link.origin, link.pathname, link.search]).toEqual([server.url, '/', '']) // the code is never sent in an address
    const code = new URLSearchParams(link.hash.slice(1)).get('code') ?? ''
    await expect(client.conversations.list()).rejects.toMatchObject({ status: 401 })
    const { token, expires_at } = await client.signIn(code)
    expect(Date.parse(expires_at)).toBeGreaterThan(Date.now())
    const signedIn = createClient({ baseUrl: server.url, token })
    expect(await signedIn.conversations.list()).toEqual({ conversations: [] })
    expect(await signedIn.metrics()).toContain('daybook') // the person who started the server is an operator
    await expect(client.signIn(code)).rejects.toMatchObject({ status: 401, code: 'code.refused' })
  })

  it('is refused with a wrong code, and tokens that were not given are refused', async () => {
    const { server, client, lines } = await openServer({ server: { auth } })
    server.signInLink()
    await expect(client.signIn('wrong')).rejects.toMatchObject({ status: 401, code: 'code.refused' })
    await expect(client.signIn('x'.repeat(5_000))).rejects.toMatchObject({ status: 400 })
    const guessed = createClient({ baseUrl: server.url, token: `session_${'0'.repeat(43)}` })
    await expect(guessed.conversations.list()).rejects.toMatchObject({ status: 401, code: 'token.refused' })
    expect(lines.join('\n')).not.toContain('wrong')
  })

  it('does not exist on a server without tokens, because its page needs none', async () => {
    const { server, client } = await openServer()
    expect(server.signInLink()).toBeUndefined()
    await expect(client.signIn('x')).rejects.toMatchObject({ status: 401, code: 'code.refused' })
  })
})

describe('sessions', () => {
  it('end after their time, as codes do', () => {
    let now = 0
    const sessions = createSessions(() => now)
    const late = sessions.createCode()
    now += 3_600_001
    expect(sessions.exchange(late)).toBeUndefined()
    const session = sessions.exchange(sessions.createCode())
    expect(sessions.callerOf(session?.token ?? '')).toMatchObject({ roles: ['operator'] })
    now += 12 * 3_600_000 + 1
    expect(sessions.callerOf(session?.token ?? '')).toBeUndefined()
  })
})
