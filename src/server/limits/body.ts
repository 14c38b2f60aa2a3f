import type { Context } from 'hono'
import type { Env } from '../handler.ts'
import { RequestProblem } from '../problem.ts'
import { parseJsonBody } from './json.ts'

type Next = () => Promise<void>

/** Rejects a body that is too large. Messages, bundles and chat histories may have `large` bytes. Other bodies may have `small` bytes. */
export function limitSize(large: number, small: number) {
  return async (c: Context<Env>, next: Next): Promise<void> => {
    const limit = /\/(?:turns|import|ag-ui|ui-message)$/.test(c.req.path) ? large : small
    const declared = c.req.header('content-length')
    if (Number(declared ?? 0) > limit) throw tooLarge()
    // the body is read here only if its length is not declared: reading the property `body` creates a stream, which takes longer than all
    // other steps before the route
    const body = declared === undefined ? c.req.raw.body : null
    if (body) {
      const bytes = await unlessBrokenOff(readLimited(body, limit))
      // Hono expects a promise of the bytes here, although the type of `bodyCache` says that it has the bytes themselves.
      c.req.bodyCache.arrayBuffer = Promise.resolve(bytes) as unknown as ArrayBuffer
    }
    await next()
  }
}

/** Reads a body whose length the client did not declare. Throws as soon as more than `limit` bytes have arrived. */
async function readLimited(body: ReadableStream<Uint8Array>, limit: number): Promise<ArrayBuffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.byteLength
    if (size > limit) throw tooLarge()
    chunks.push(chunk)
  }
  return Uint8Array.from(Buffer.concat(chunks)).buffer
}

export const bodyBytes = (c: Context<Env>): Promise<ArrayBuffer> => unlessBrokenOff(c.req.arrayBuffer())

/**
 * Awaits the reading of a body. If the reading fails, throws a problem with status 400 instead of the error. It fails when the client
 * disconnects, or when the server disconnects a client that is too slow.
 */
async function unlessBrokenOff<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof RequestProblem) throw error
    throw new RequestProblem(400, 'request.broken', 'The request ended before its body was complete.')
  }
}

// the server does not read the rest of the body, so it closes the connection
const tooLarge = () => new RequestProblem(413, 'request.too_large', 'The request is too large.', { headers: { connection: 'close' } })

/**
 * Parses a JSON body, so that the routes get the parsed value. Rejects malformed JSON and JSON that exceeds a limit. Also rejects bodies
 * that are not JSON. Only `/turns` also accepts a form (`multipart/form-data`).
 */
export async function readBody(c: Context<Env>, next: Next): Promise<void> {
  const type = c.req.header('content-type')
  if (type !== undefined && jsonType.test(type)) {
    const bytes = new Uint8Array(await bodyBytes(c))
    // Many clients send this header with every request. Routes that need no body accept an empty one, and all others refuse it.
    const value = bytes.length === 0 ? undefined : await parseJsonBody(bytes)
    c.req.json = async <T>() => value as T // without this, Hono would parse the body again with each call
    c.req.bodyCache = {} // frees the bytes
  } else if (hasBody(c) && !(type !== undefined && formType.test(type) && c.req.path.endsWith('/turns'))) {
    throw new RequestProblem(415, 'request.unsupported', 'Send application/json; messages may also be multipart/form-data.')
  }
  await next()
}

const jsonType = /^application\/(?:[\w.+-]+\+)?json(?:;\s*charset="?utf-8"?)?$/i
const formType = /^multipart\/form-data\b/i

const hasBody = (c: Context<Env>) => c.req.header('transfer-encoding') !== undefined || Number(c.req.header('content-length') ?? 0) > 0
