import { rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { serverSentEvents } from '../../src/client/server-sent-events.ts'
import {
  newServerFolder,
  pipeToDaybook,
  runDaybook,
  startCommandServer,
  startServer,
  stopServers,
  tryDaybook,
} from '../support/crash/start-server.ts'
import { holdFile, steps } from '../support/crash/step-model.ts'

const leaving: AbortController[] = []
afterEach(async () => {
  for (const leave of leaving.splice(0)) leave.abort()
  await stopServers()
})

const formats = ['native', 'chat', 'ag-ui', 'ui-message'] as const
type Format = (typeof formats)[number]

/** A connection to the event stream of `c1`. `after` is sent as `Last-Event-ID`, as browsers do. */
function listen(url: string, as: Format, after?: string) {
  const leave = new AbortController()
  leaving.push(leave)
  const ids: string[] = []
  const data: string[] = []
  const ended = (async () => {
    const headers = after === undefined ? {} : { 'last-event-id': after }
    const response = await fetch(`${url}/v1/conversations/c1/events?as=${as}`, { headers, signal: leave.signal })
    for await (const event of serverSentEvents(response.body as AsyncIterable<Uint8Array>)) {
      if (event.id !== undefined && event.id !== '' && event.id !== ids.at(-1)) ids.push(event.id)
      data.push(event.data)
    }
  })().catch((error: unknown) => {
    if (!leave.signal.aborted) throw error
  })
  return { ids, data, ended, leave: () => leave.abort(), has: (text: string) => data.some((each) => each.includes(text)) }
}

const upTo = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, index) => String(first + index))
const lastSeq = async (url: string) => (await createClient({ baseUrl: url }).conversations.get('c1')).last_seq
const rename = (url: string, title: string) =>
  fetch(`${url}/v1/conversations/c1`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ title }),
  })
const answer = `All ${steps} steps are done.`
const waiting = { timeout: 20_000, interval: 20 }

/** Waits until the turn is closed, and the stream has its last entry. */
async function untilAllEntries(url: string, stream: ReturnType<typeof listen>): Promise<number> {
  const client = createClient({ baseUrl: url })
  await expect.poll(async () => (await client.conversations.get('c1')).open_turn, waiting).toBe(null)
  const last = await lastSeq(url)
  await expect.poll(() => stream.ids.at(-1), waiting).toBe(String(last))
  return last
}

describe('two servers on one folder', () => {
  it('a follower at either server gets every entry once and in order, whichever server wrote it', async () => {
    const folder = newServerFolder()
    const [first, second] = [await startServer(folder), await startServer(folder)]
    const [one, two] = [first, second].map(({ url }) => createClient({ baseUrl: url })) as [Client, Client]
    await one.conversations.create({ id: 'c1', title: 'Work' })
    const streams = [first, second].map(({ url }) => listen(url, 'native'))
    await one.send('c1', 'Do all of it.')
    for (const stream of streams) await untilAllEntries(second.url, stream)
    await rename(second.url, 'By the second server') // first the other way round, then alternating
    await rename(first.url, 'By the first server')
    await two.send('c1', 'Do it again.')
    for (const stream of streams) {
      const last = await untilAllEntries(first.url, stream)
      expect(stream.ids).toEqual(upTo(last))
    }
  }, 60_000)

  it('every format has the answer of a turn that the other server ran', async () => {
    const folder = newServerFolder()
    const [first, second] = [await startServer(folder), await startServer(folder)]
    const client = createClient({ baseUrl: first.url })
    await client.conversations.create({ id: 'c1', title: 'Work' })
    const streams = formats.map((as) => listen(second.url, as))
    await expect.poll(async () => (await createClient({ baseUrl: second.url }).metrics()).includes('daybook_followers 4')).toBe(true)
    await client.send('c1', 'Do all of it.')
    for (const stream of streams) await expect.poll(() => stream.has(answer), waiting).toBe(true)
  }, 60_000)

  it('no response or event of the other server names the process or the host that runs a turn', async () => {
    const folder = newServerFolder()
    const [first, second] = [await startServer(folder, { delayMs: 20 }), await startServer(folder)]
    const client = createClient({ baseUrl: first.url })
    await client.conversations.create({ id: 'c1', title: 'Work' })
    const streams = formats.map((as) => listen(second.url, as))
    await client.send('c1', 'Do all of it.')
    const request = (path: string, method: string, body?: object) =>
      fetch(`${second.url}/v1/conversations/c1${path}`, {
        method,
        ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      })
    const responses = [
      await request('/turns', 'POST', { text: 'Me, too.' }),
      await request('', 'PATCH', { title: 'Mine' }),
      await request('', 'DELETE'),
      await request('/feedback', 'POST', { turn_id: (await client.conversations.get('c1')).open_turn, reaction: 'ok' }),
    ]
    const texts = await Promise.all(responses.map(async (each) => JSON.stringify([...each.headers]) + (await each.text())))
    expect(responses.map(({ status }) => status)).toEqual([202, 409, 409, 204])
    for (const stream of streams) await expect.poll(() => stream.has(answer), waiting).toBe(true)
    const owner = new RegExp(`\\bprocess ${first.child.pid}\\b|"pid"|\\b${hostname()}\\b`)
    for (const text of [...texts, ...streams.flatMap(({ data }) => data)]) expect(text).not.toMatch(owner)
  }, 60_000)

  it('a follower that reconnects to the other server with its last id misses nothing', async () => {
    const folder = newServerFolder()
    const [first, second] = [await startServer(folder), await startServer(folder)]
    const client = createClient({ baseUrl: first.url })
    await client.conversations.create({ id: 'c1', title: 'Work' })
    await client.send('c1', 'Do all of it.')
    const before = listen(first.url, 'native')
    await expect.poll(() => before.ids.length, waiting).toBeGreaterThan(5)
    before.leave()
    await before.ended
    const after = listen(second.url, 'native', before.ids.at(-1))
    const last = await untilAllEntries(first.url, after)
    expect([...before.ids, ...after.ids]).toEqual(upTo(last))
  }, 60_000)

  it('a stream ends when the other server deletes the conversation', async () => {
    const folder = newServerFolder()
    const [first, second] = [await startServer(folder), await startServer(folder)]
    const client = createClient({ baseUrl: first.url })
    await client.conversations.create({ id: 'c1', title: 'Work' })
    const stream = listen(second.url, 'native')
    await expect.poll(() => stream.ids.length, waiting).toBe(1)
    await client.conversations.delete('c1')
    await stream.ended
  }, 60_000)
})

it('a follower of a server that was paused, and lost its turn to another server, gets every entry once', async () => {
  const folder = newServerFolder()
  const paused = await startServer(folder, { delayMs: 10 })
  const client = createClient({ baseUrl: paused.url })
  await client.conversations.create({ id: 'c1', title: 'Work' })
  const stream = listen(paused.url, 'native')
  await client.send('c1', 'Do all of it.')
  await expect.poll(() => stream.ids.length, waiting).toBeGreaterThan(4)
  paused.child.kill('SIGSTOP')
  const other = await startServer(folder, { aheadMs: 60_000 }) // for this server the lease has expired, and it resumes the turn
  const elsewhere = listen(other.url, 'native')
  await untilAllEntries(other.url, elsewhere)
  paused.child.kill('SIGCONT')
  const last = await untilAllEntries(other.url, stream)
  expect([stream.ids, elsewhere.ids]).toEqual([upTo(last), upTo(last)])
}, 60_000)

it('`daybook run` on the folder of a server: followers of the server get every entry once', async () => {
  const folder = newServerFolder()
  const server = await startCommandServer(folder)
  const client = createClient({ baseUrl: server.url })
  await client.conversations.create({ id: 'c1', title: 'Work' })
  const stream = listen(server.url, 'native')
  await runDaybook('run', 'Hello there', '--data', folder, '--conversation', 'c1', '--model', 'offline', '--quiet')
  await client.send('c1', 'And hello again')
  const last = await untilAllEntries(server.url, stream)
  expect(stream.ids).toEqual(upTo(last))
  expect(last).toBeGreaterThan(10)
}, 60_000)

describe('a terminal and a server on one folder', () => {
  const inFolder = (folder: string) => ['--data', folder, '--model', 'offline'] as const
  const openTurn = async (client: Client) => (await client.conversations.get('c1')).open_turn
  const messagesIn = async (client: Client) =>
    (await client.timeline('c1')).blocks.flatMap(({ type, text }) => (type.startsWith('user.') ? [text] : []))

  /** A server that runs a turn in `c1`. The model answers after `release` was called. */
  async function busyServer() {
    const folder = newServerFolder()
    const hold = join(folder, holdFile)
    writeFileSync(hold, '')
    const server = await startServer(folder)
    const client = createClient({ baseUrl: server.url })
    await client.conversations.create({ id: 'c1', title: 'Work' })
    await client.send('c1', 'Do all of it.')
    await expect.poll(() => openTurn(client), waiting).not.toBe(null)
    return { folder, client, stream: listen(server.url, 'native'), release: () => rmSync(hold) }
  }

  it('`daybook run` joins the turn that the server runs, and prints its answer', async () => {
    const { folder, client, stream, release } = await busyServer()
    const printed = runDaybook('run', 'Me, too.', '--conversation', 'c1', '--quiet', ...inFolder(folder))
    await expect.poll(() => stream.has('Me, too.'), waiting).toBe(true) // the server has taken the message
    release()
    expect((await printed).trim()).toBe(answer)
    expect(await messagesIn(client)).toEqual(['Do all of it.', 'Me, too.'])
  }, 60_000)

  it('`daybook chat` joins the turn that the server runs, and waits for the answer to its message', async () => {
    const { folder, stream, release } = await busyServer()
    const chat = pipeToDaybook('Me, too.\n', 'chat', '--conversation', 'c1', ...inFolder(folder))
    await expect.poll(() => stream.has('Me, too.'), waiting).toBe(true)
    release()
    expect(await chat).toEqual({ code: 0, output: expect.stringContaining(answer) })
  }, 60_000)

  it('`daybook steer`, `stop` and `send` reach the turn that the server runs, and `send` a server that runs none', async () => {
    const { folder, client, release } = await busyServer()
    expect(await tryDaybook('steer', 'c1', 'Other steps, please.', ...inFolder(folder))).toEqual({ code: 0, output: 'steered c1\n' })
    expect(await tryDaybook('stop', 'c1', ...inFolder(folder))).toEqual({ code: 0, output: 'stopped c1\n' })
    await expect.poll(() => openTurn(client), waiting).toBe(null)
    expect(await tryDaybook('stop', 'c1', ...inFolder(folder))).toEqual({ code: 1, output: '' })
    await runDaybook('send', 'c1', 'Once more.', ...inFolder(folder))
    await expect.poll(() => openTurn(client), waiting).not.toBe(null) // the server looks for offers also when it runs nothing
    await runDaybook('send', 'c1', 'And that.', ...inFolder(folder))
    release()
    await expect.poll(() => openTurn(client), waiting).toBe(null)
    expect(await messagesIn(client)).toEqual(['Do all of it.', 'Other steps, please.', '', 'Once more.', 'And that.'])
    expect((await tryDaybook('send', 'unknown', 'Hello?', ...inFolder(folder))).code).toBe(1)
  }, 60_000)

  it('messages, steers and stops over HTTP reach the turn that `daybook run` runs', async () => {
    const folder = newServerFolder()
    const server = await startServer(folder)
    const client = createClient({ baseUrl: server.url })
    await client.conversations.create({ id: 'c1', title: 'Work' })
    const agent = join(import.meta.dirname, '../support/crash/step-agent.ts')
    const stream = listen(server.url, 'native')
    const running = tryDaybook('run', 'Do all of it.', '--conversation', 'c1', '--quiet', '--data', folder, '--agent', agent)
    await expect.poll(() => openTurn(client), waiting).not.toBe(null)
    expect(await client.send('c1', 'Me, too.', { idempotencyKey: 'mine' })).toMatchObject({ status: 'followup_accepted' })
    expect(await client.send('c1', 'Me, too.', { idempotencyKey: 'mine' })).toMatchObject({ status: 'already_accepted' })
    expect(await client.send('c1', 'Quickly.', { mode: 'steer' })).toMatchObject({ status: 'steer_accepted' })
    expect(await client.stop('c1')).toEqual({ stopped: true })
    expect((await running).code).toBe(0)
    const last = await untilAllEntries(server.url, stream)
    expect(stream.ids).toEqual(upTo(last))
    expect((await messagesIn(client)).slice(0, 3)).toEqual(['Do all of it.', 'Me, too.', 'Quickly.'])
  }, 60_000)
})

type Client = ReturnType<typeof createClient>
