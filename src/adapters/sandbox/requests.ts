import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { errorMessage } from '../../core/failure.ts'
import { type Json, parseJson } from '../../core/json.ts'
import type { SandboxProgram, SandboxRequest } from '../../ports/sandbox.ts'
import type { Identity } from './identity.ts'

/** Answers the requests of one program until it is closed. */
export interface RequestServer {
  /** The path of the socket on this machine. Only the sandbox of this program contains the socket. */
  readonly path: string
  /** The secret that every request must contain. */
  readonly token: string
  close(): Promise<void>
}

const MiB = 1024 * 1024
const maxRequestBytes = 8 * MiB
const maxAnswerBytes = 32 * MiB
/** The maximum size of all requests together that have not arrived completely. */
const maxPendingBytes = 32 * MiB
const maxConnections = 64
const maxConcurrentAnswers = 8
const arrivalMs = 30_000

/**
 * Listens on a socket in a folder that only this process can enter. Node can not tell which process is at the other end of a connection. So
 * the socket is protected by its access rights: other users of this machine can not open its folder, and the socket is mounted into one
 * sandbox only. Programs in other sandboxes see neither the folder nor the socket. In addition every request must contain the token, which
 * is in a file of that sandbox and nowhere else.
 *
 * A connection has one request: a JSON text, and the end of the stream. The answer is `{ok: true, result}` or `{ok: false, error}`.
 */
export async function serveRequests(answer: SandboxProgram['answer'], identity: Identity | undefined): Promise<RequestServer> {
  const folder = mkdtempSync(join(tmpdir().length < 64 ? tmpdir() : '/tmp', 'daybook-run-')) // paths of sockets have at most 107 bytes
  const path = join(folder, 'requests.sock')
  const token = randomBytes(32).toString('hex')
  const queue = createQueue(maxConcurrentAnswers)
  const connections = new Set<Socket>()
  let pendingBytes = 0

  async function respond(connection: Socket): Promise<void> {
    const arrived = await readRequest(connection, (bytes) => {
      pendingBytes += bytes
      return pendingBytes <= maxPendingBytes
    })
    const request = arrived.ok ? parseRequest(arrived.text, token) : arrived
    connection.setTimeout(0)
    connection.end(JSON.stringify(request.ok ? await queue(() => answerTo(request.request, answer)) : request))
  }

  const server = createServer({ allowHalfOpen: true }, (connection) => {
    connections.add(connection)
    connection.on('close', () => connections.delete(connection))
    connection.on('error', () => connection.destroy()) // the program has ended or closed its side
    connection.setTimeout(arrivalMs, () => connection.destroy())
    void respond(connection)
  })
  server.maxConnections = maxConnections

  async function close(): Promise<void> {
    for (const connection of connections) connection.destroy()
    await new Promise<void>((resolve) => server.close(() => resolve()))
    rmSync(folder, { recursive: true, force: true })
  }

  try {
    await listen(server, path)
    if (identity) chownSync(path, identity.uid, identity.gid)
  } catch (error) {
    await close()
    throw error
  }
  return { path, token, close }
}

function listen(server: Server, path: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen(path, resolve)
  return promise
}

type Arrived = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly error: string }
type Parsed = { readonly ok: true; readonly request: SandboxRequest } | { readonly ok: false; readonly error: string }

/**
 * Reads up to the end of the request. `count` is called with the number of bytes that arrived, and with a negative number when these bytes
 * are released. It returns false if the requests together hold too many bytes.
 */
function readRequest(connection: Socket, count: (bytes: number) => boolean): Promise<Arrived> {
  const { promise, resolve } = Promise.withResolvers<Arrived>()
  const pieces: Buffer[] = []
  let size = 0
  connection.on('data', (piece: Buffer) => {
    size += piece.length
    if (count(piece.length) && size <= maxRequestBytes) pieces.push(piece)
    else resolve({ ok: false, error: `the request is larger than ${maxRequestBytes} bytes, or there are too many large requests` })
  })
  connection.on('end', () => resolve({ ok: true, text: Buffer.concat(pieces).toString() }))
  connection.on('close', () => resolve({ ok: false, error: 'the connection was closed' }))
  return promise.finally(() => {
    connection.removeAllListeners('data').resume()
    count(-size)
  })
}

/** Reads a request. A wrong token gives the same error as a missing one, after the same time. */
function parseRequest(text: string, token: string): Parsed {
  const value = parseJson(text)
  if (value === undefined) return { ok: false, error: 'the request is not JSON, or is nested too deep' }
  const { token: given, kind, path, toolId, params, reason } = (isObject(value) ? value : {}) as Record<string, Json | undefined>
  if (typeof given !== 'string' || !timingSafeEqual(digest(given), digest(token))) return { ok: false, error: 'the token is wrong' }
  if (kind === 'fetch_ctx')
    return typeof path === 'string' ? { ok: true, request: { kind, path } } : { ok: false, error: 'the path must be a text' }
  if (kind !== 'tool_call') return { ok: false, error: 'the kind of the request is unknown' }
  if (typeof toolId !== 'string') return { ok: false, error: 'the id of the tool must be a text' }
  if (!isObject(params)) return { ok: false, error: 'the parameters must be an object' }
  if (reason !== undefined && typeof reason !== 'string') return { ok: false, error: 'the reason must be a text' }
  return { ok: true, request: { kind, toolId, params, ...(reason !== undefined && { reason }) } }
}

const isObject = (value: Json | undefined): value is { readonly [key: string]: Json } =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

const digest = (text: string) => createHash('sha256').update(text).digest()

async function answerTo(request: SandboxRequest, answer: SandboxProgram['answer']) {
  try {
    const result = await answer(request)
    const size = Buffer.byteLength(JSON.stringify(result) ?? '')
    return size > maxAnswerBytes
      ? { ok: false, error: `the answer has ${size} bytes, at most ${maxAnswerBytes} are possible` }
      : { ok: true, result }
  } catch (error) {
    return { ok: false, error: errorMessage(error) }
  }
}

/** Runs at most `limit` tasks at a time. Further tasks wait and are started in the order in which they were added. */
function createQueue(limit: number) {
  const waiting: (() => void)[] = []
  let running = 0
  return async <Result>(task: () => Promise<Result>): Promise<Result> => {
    if (running >= limit) await new Promise<void>((resolve) => waiting.push(resolve))
    running += 1
    try {
      return await task()
    } finally {
      running -= 1
      waiting.shift()?.()
    }
  }
}
