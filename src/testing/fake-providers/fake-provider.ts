import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { roughTokens } from '../../core/estimate/tokens.ts'
import { parseJson } from '../../core/json.ts'
import { type CacheSimulator, createCacheSimulator } from '../cache-simulator.ts'
import { requestRules } from '../request-rules/index.ts'
import { anthropicFormat } from './anthropic.ts'
import { compatibleFormat } from './compatible.ts'
import { googleFormat } from './google.ts'
import { openaiFormat } from './openai.ts'
import {
  type FakeReply,
  type FakeRequest,
  type FakeUsage,
  inputPieces,
  type ParsedRequest,
  type ProviderFormat,
  splitText,
} from './provider-format.ts'

/** A running fake provider. */
export interface FakeProvider {
  /** Environment variables with the address and key of the fake provider. Pass them to `modelFrom` as `environment`. */
  readonly environment: Readonly<Record<string, string>>
  readonly address: string
  /** The received requests, in order. */
  readonly requests: readonly FakeRequest[]
  /** How many replies of the script have not been sent yet. */
  readonly left: number
  /** How many responses ended early because the client closed the connection. */
  readonly abandoned: number
  /** Whether the latest response has stopped in the middle and stays open, because its reply has the fault `stall`. */
  readonly silent: boolean
  close(): Promise<void>
}

/** The providers that can be simulated. */
export type FakeProviderName = keyof typeof formats
/** The replies, one per request, in order. A string is a reply with this text. */
export type FakeScript = readonly (string | FakeReply | ((request: FakeRequest) => string | FakeReply))[]

/** Options of `startFakeProvider`. */
export interface FakeProviderOptions {
  readonly key?: string
  /** The current time for the simulated cache, in milliseconds. Default: `Date.now`. */
  readonly now?: () => number
  /** Only prompts with at least this many tokens are cached. Default: 1,024. */
  readonly minimumTokens?: number
}

const formats = { anthropic: anthropicFormat, openai: openaiFormat, google: googleFormat, compatible: compatibleFormat } as const

const maxMarks = 4

/**
 * Starts a local HTTP server with the API of a model provider, on a free port of 127.0.0.1. The server sends the replies of the script. The
 * token counts that it reports come from a simulated prompt cache.
 *
 *   const provider = await startFakeProvider('anthropic', ['<channel:answer>Hello.</channel:answer>'])
 *   const model = modelFrom('anthropic/claude-sonnet-5-5', { environment: provider.environment })
 *   …
 *   await provider.close()
 */
export async function startFakeProvider(
  name: FakeProviderName,
  script: FakeScript,
  { key = 'fake-key', now = Date.now, minimumTokens = 1_024 }: FakeProviderOptions = {},
): Promise<FakeProvider> {
  const format: ProviderFormat = formats[name]
  const requests: FakeRequest[] = []
  const countUsage = createUsageCounter(minimumTokens, now)
  let next = 0
  let abandoned = 0
  let silent = false

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const raw = await bodyOf(request)
    const captured: FakeRequest = { path: request.url ?? '', headers: request.headers, body: parseJson(raw), raw }
    requests.push(captured)
    silent = false
    const parsed = format.parse(captured.path, captured.body)
    if (!parsed) return sendError(response, { status: 404, body: { error: { message: `no such route: ${captured.path}` } } })
    const marks = parsed.parts.filter(({ cache }) => cache).length + (parsed.cache !== 'prefix' && parsed.system !== '' ? 1 : 0)
    if (marks > maxMarks)
      return sendError(response, { status: 400, body: { error: { type: 'invalid_request_error', message: tooManyMarks(marks) } } })
    const problems = requestRules[name](captured.body)
    if (problems.length > 0)
      return sendError(response, { status: 400, body: { error: { type: 'invalid_request_error', message: problems.join('; ') } } })
    const scripted = script[next++] ?? { error: 'server_error' as const }
    const result = typeof scripted === 'function' ? scripted(captured) : scripted
    const reply = typeof result === 'string' ? { text: result } : result
    if (reply.error) return sendError(response, format.errorResponse(reply.error, format.keyOf(captured.headers), reply.retryAfterMs))
    await streamResponse(response, format, reply, parsed, { ...countUsage(parsed, reply), ...reply.usage })
    silent = reply.fault === 'stall'
  }

  const { createServer } = process.getBuiltinModule('node:http') // loaded on demand, because few tests need it and it takes 10 ms
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
    environment: format.environment(address, key),
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

/** Returns a function that counts the tokens of a request and its reply. Each model has its own simulated cache. */
function createUsageCounter(minimumTokens: number, now: () => number): (parsed: ParsedRequest, reply: FakeReply) => FakeUsage {
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
  return (parsed, reply) => {
    const cacheId = `${parsed.model} ${parsed.cache} ${parsed.long ?? false}`
    const cache = caches.get(cacheId) ?? create(parsed)
    caches.set(cacheId, cache)
    const { uncached, cacheRead, cacheWrite } = cache.call({ system: parsed.system, parts: parsed.parts, at: now() / 1000 })
    const reasoning = roughTokens(reply.reasoning ?? '')
    const calls = (reply.calls ?? []).flatMap((call) => [call.name, ...inputPieces(call)]).join('')
    const output = roughTokens((reply.text ?? '') + calls) + reasoning
    return { uncached, cacheRead, cacheWrite, cacheWriteLong: parsed.long ? cacheWrite : 0, output, reasoning }
  }
}

async function streamResponse(
  response: ServerResponse,
  format: ProviderFormat,
  reply: FakeReply,
  parsed: ParsedRequest,
  usage: FakeUsage,
): Promise<void> {
  const { opening, pieces, closing } = format.frames(reply, splitText(reply.text ?? '', reply.chunks), parsed, usage)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const frame of opening) response.write(frame)
  for (const frame of pieces) {
    if (reply.delayMs !== undefined) await sleep(reply.delayMs)
    response.write(frame)
  }
  // writes an SSE comment and waits until it is sent. By then, everything that was written before is sent too
  await new Promise((resolve) => response.write(': flushed\n\n', resolve))
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

function sendError(response: ServerResponse, error: { status: number; headers?: Readonly<Record<string, string>>; body: unknown }): void {
  response.writeHead(error.status, { 'content-type': 'application/json', ...error.headers })
  response.end(JSON.stringify(error.body))
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString('utf8')
}
