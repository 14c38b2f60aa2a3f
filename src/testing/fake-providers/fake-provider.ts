import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { roughTokens } from '../../core/estimate/tokens.ts'
import { parseJson } from '../../core/json.ts'
import { type CacheSimulator, createCacheSimulator } from '../cache-simulator.ts'
import { anthropicFormat } from './anthropic.ts'
import { compatibleFormat } from './compatible.ts'
import { googleFormat } from './google.ts'
import { openaiFormat } from './openai.ts'
import type { FakeReply, FakeRequest, FakeUsage, ParsedRequest, ProviderFormat } from './provider-format.ts'

/**
 * A provider on this machine: it speaks the real format over HTTP and says what you tell it to. Its prompt cache reckons what the
 * real one would bill.
 *
 *   const provider = await startFakeProvider('anthropic', ['<channel:answer>Hello.</channel:answer>'])
 *   const model = modelFrom('anthropic/claude-sonnet-5-5', { environment: provider.environment })
 *   …
 *   await provider.close()
 */
export interface FakeProvider {
  /** Keys and addresses by which a model finds it. */
  readonly environment: Readonly<Record<string, string>>
  readonly address: string
  /** Everything it was asked, in order. */
  readonly requests: readonly FakeRequest[]
  /** Replies that nobody has asked for yet. */
  readonly left: number
  /** Answers whose reader hung up before they were over. */
  readonly abandoned: number
  /** The latest answer will never go on. */
  readonly silent: boolean
  close(): Promise<void>
}

export type FakeProviderName = keyof typeof formats
export type FakeScript = readonly (string | FakeReply | ((request: FakeRequest) => string | FakeReply))[]

export interface FakeProviderOptions {
  readonly key?: string
  /** Milliseconds; moves the cache's time. */
  readonly now?: () => number
  /** Beginnings of fewer tokens are not cached. */
  readonly minimumTokens?: number
}

const formats = { anthropic: anthropicFormat, openai: openaiFormat, google: googleFormat, compatible: compatibleFormat } as const

const maxMarks = 4

export async function startFakeProvider(
  name: FakeProviderName,
  script: FakeScript,
  { key = 'fake-key', now = Date.now, minimumTokens = 1_024 }: FakeProviderOptions = {},
): Promise<FakeProvider> {
  const wire: ProviderFormat = formats[name]
  const requests: FakeRequest[] = []
  const bill = createUsageCounter(minimumTokens, now)
  let next = 0
  let abandoned = 0
  let silent = false

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const raw = await bodyOf(request)
    const captured: FakeRequest = { path: request.url ?? '', headers: request.headers, body: parseJson(raw), raw }
    requests.push(captured)
    silent = false
    const asked = wire.parse(captured.path, captured.body)
    if (!asked) return refuse(response, { status: 404, body: { error: { message: `no such route: ${captured.path}` } } })
    const marks = asked.parts.filter(({ cache }) => cache).length + (asked.cache !== 'prefix' && asked.system !== '' ? 1 : 0)
    if (marks > maxMarks)
      return refuse(response, { status: 400, body: { error: { type: 'invalid_request_error', message: tooManyMarks(marks) } } })
    const line = script[next++] ?? { error: 'server_error' as const }
    const said = typeof line === 'function' ? line(captured) : line
    const reply = typeof said === 'string' ? { text: said } : said
    if (reply.error) return refuse(response, wire.refusal(reply.error, wire.keyOf(captured.headers), reply.retryAfterMs))
    await streamResponse(response, wire, reply, asked, { ...bill(asked, reply), ...reply.usage })
    silent = reply.fault === 'stall'
  }

  const server = createServer((request, response) => {
    response.on('close', () => {
      if (!response.writableFinished) abandoned++
    })
    answer(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    address,
    environment: wire.environment(address, key),
    requests,
    get left() {
      return Math.max(0, script.length - next)
    },
    get abandoned() {
      return abandoned
    },
    get silent() {
      return silent
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const tooManyMarks = (marks: number) => `A maximum of ${maxMarks} blocks with cache_control may be provided. Found ${marks}.`

/** What each request costs, given those before it. */
function createUsageCounter(minimumTokens: number, now: () => number): (asked: ParsedRequest, reply: FakeReply) => FakeUsage {
  const caches = new Map<string, CacheSimulator>()
  const create = ({ cache, long }: ParsedRequest): CacheSimulator =>
    cache === 'prefix'
      ? createCacheSimulator({ kind: 'prefix', minimumTokens, ttlSeconds: 300, count: roughTokens })
      : createCacheSimulator({
          kind: 'anthropic',
          minimumTokens,
          ttlSeconds: cache === 'marks' ? (long ? 3_600 : 300) : 1_800,
          count: roughTokens,
          ...(cache === 'marks-without-look-back' && { lookBack: 1 }),
        })
  return (asked, reply) => {
    const kind = `${asked.model} ${asked.cache} ${asked.long ?? false}`
    const cache = caches.get(kind) ?? create(asked)
    caches.set(kind, cache)
    const { uncached, cacheRead, cacheWrite } = cache.call({ system: asked.system, parts: asked.parts, at: now() / 1000 })
    const reasoning = roughTokens(reply.reasoning ?? '')
    const output = roughTokens(reply.text ?? '') + reasoning
    return { uncached, cacheRead, cacheWrite, cacheWriteLong: asked.long ? cacheWrite : 0, output, reasoning }
  }
}

async function streamResponse(
  response: ServerResponse,
  wire: ProviderFormat,
  reply: FakeReply,
  asked: ParsedRequest,
  usage: FakeUsage,
): Promise<void> {
  const { opening, pieces, closing } = wire.frames(reply, splitText(reply.text ?? '', reply.chunks), asked, usage)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const frame of opening) response.write(frame)
  for (const frame of pieces) {
    if (reply.delayMs !== undefined) await sleep(reply.delayMs)
    response.write(frame)
  }
  await new Promise((resolve) => response.write(': flushed\n\n', resolve)) // a comment: what was said has left the house
  switch (reply.fault) {
    case 'stall':
      return
    case 'reset':
      response.socket?.resetAndDestroy()
      return
    case 'malformed':
      response.end('data: {"this is": not json\n\n')
      return
    case 'cut':
      response.end()
      return
    case undefined:
      response.end(closing.join(''))
      return
    default:
      return reply.fault satisfies never
  }
}

function splitText(text: string, size = text.length): readonly string[] {
  return text === ''
    ? []
    : Array.from({ length: Math.ceil(text.length / size) }, (_, index) => text.slice(index * size, (index + 1) * size))
}

function refuse(response: ServerResponse, refusal: { status: number; headers?: Readonly<Record<string, string>>; body: unknown }): void {
  response.writeHead(refusal.status, { 'content-type': 'application/json', ...refusal.headers })
  response.end(JSON.stringify(refusal.body))
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString('utf8')
}
