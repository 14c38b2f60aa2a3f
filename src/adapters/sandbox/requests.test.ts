import { existsSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { Json } from '../../core/json.ts'
import type { SandboxRequest } from '../../ports/sandbox.ts'
import { type RequestServer, serveRequests } from './requests.ts'

const servers: RequestServer[] = []
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())))

async function open(answer: (request: SandboxRequest) => Promise<Json> = async () => 'answer') {
  const asked: SandboxRequest[] = []
  const server = await serveRequests((request) => {
    asked.push(request)
    return answer(request)
  }, undefined)
  servers.push(server)
  return { server, asked }
}

/** Sends a text, ends the stream and reads the answer. */
function send(path: string, text: string | Uint8Array): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  let received = ''
  const connection = connect({ path, allowHalfOpen: true })
  connection.on('data', (piece) => {
    received += piece.toString()
  })
  connection.on('end', () => resolve(received === '' ? undefined : JSON.parse(received)))
  connection.on('error', (error: NodeJS.ErrnoException) =>
    error.code === 'EPIPE' || error.code === 'ECONNRESET' ? undefined : reject(error),
  )
  connection.on('close', () => resolve(received === '' ? undefined : JSON.parse(received)))
  connection.end(text)
  return promise
}

const fetchRequest = (token: string, path: Json = 'so:sources_pool[1]') => JSON.stringify({ token, kind: 'fetch_ctx', path })

describe('the socket for requests of a program', () => {
  it('is in a folder that only this user can enter, and is gone after it is closed', async () => {
    const { server } = await open()
    const folder = dirname(server.path)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect(server.token).toHaveLength(64)
    await server.close()
    expect(existsSync(folder)).toBe(false)
  })

  it('answers a request with the right token, and no other', async () => {
    const { server, asked } = await open()
    expect(await send(server.path, fetchRequest(server.token))).toEqual({ ok: true, result: 'answer' })
    const refused = { ok: false, error: 'the token is wrong' }
    for (const token of ['', server.token.slice(1), `${server.token}0`, 'f'.repeat(64), '\u0000'])
      expect(await send(server.path, fetchRequest(token))).toEqual(refused)
    expect(await send(server.path, JSON.stringify({ kind: 'fetch_ctx', path: 'x' }))).toEqual(refused)
    expect(asked).toHaveLength(1)
  })

  const notJson = 'the request is not JSON, or is nested too deep'
  it.each([
    ['no JSON', () => '{', notJson],
    ['nothing', () => '', notJson],
    ['a list', () => '[]', 'the token is wrong'],
    ['a deep text', () => '['.repeat(100_000), notJson],
    ['a number that JSON does not have', (token: string) => `{"token": "${token}", "n": NaN}`, notJson],
    ['a path that is no text', (token: string) => fetchRequest(token, 1), 'the path must be a text'],
    ['an unknown kind', (token: string) => JSON.stringify({ token, kind: 'exec' }), 'the kind of the request is unknown'],
    ['no tool', (token: string) => JSON.stringify({ token, kind: 'tool_call', params: {} }), 'the id of the tool must be a text'],
    [
      'wrong parameters',
      (token: string) => JSON.stringify({ token, kind: 'tool_call', toolId: 'a.b', params: [] }),
      'the parameters must be an object',
    ],
    [
      'a wrong reason',
      (token: string) => JSON.stringify({ token, kind: 'tool_call', toolId: 'a.b', params: {}, reason: {} }),
      'the reason must be a text',
    ],
  ])('refuses %s', async (_, text, error) => {
    const { server, asked } = await open()
    expect(await send(server.path, text(server.token))).toEqual({ ok: false, error })
    expect(asked).toEqual([])
  })

  it('refuses a request that is too large, and answers the next one', async () => {
    const { server } = await open()
    const large = fetchRequest(server.token, 'x'.repeat(9 * 1024 * 1024))
    expect([undefined, 'the request is larger']).toContain(((await send(server.path, large)) as { error?: string })?.error?.slice(0, 21))
    expect(await send(server.path, fetchRequest(server.token))).toEqual({ ok: true, result: 'answer' })
  })

  it('passes on the message of an error, and refuses an answer that is too large', async () => {
    const failing = await open(() => Promise.reject(new Error('the budget of 50 calls is used up')))
    expect(await send(failing.server.path, fetchRequest(failing.server.token))).toEqual({
      ok: false,
      error: 'the budget of 50 calls is used up',
    })
    const large = await open(async () => 'x'.repeat(33 * 1024 * 1024))
    expect(await send(large.server.path, fetchRequest(large.server.token))).toMatchObject({ ok: false })
  })

  it('answers at most 8 requests at a time', async () => {
    let running = 0
    let most = 0
    const { server } = await open(async () => {
      running += 1
      most = Math.max(most, running)
      await new Promise((resolve) => setTimeout(resolve, 20))
      running -= 1
      return null
    })
    const answers = await Promise.all(Array.from({ length: 30 }, () => send(server.path, fetchRequest(server.token))))
    expect(answers).toEqual(answers.map(() => ({ ok: true, result: null })))
    expect(most).toBe(8)
  })

  it('can be closed while a program waits for an answer or sends nothing', async () => {
    const { server, asked } = await open(() => new Promise(() => {}))
    const waiting = send(server.path, fetchRequest(server.token))
    const silent = connect({ path: server.path })
    const ended = new Promise((resolve) => silent.on('close', resolve).on('error', () => {}))
    await expect.poll(() => asked.length).toBe(1)
    await server.close()
    expect(await waiting).toBeUndefined()
    await ended
  })
})
