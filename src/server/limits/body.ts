import type { Context } from 'hono'
import type { Env } from '../handler.ts'
import { invalidRequest, RequestProblem } from '../problem.ts'

type Next = () => Promise<void>

/** Rejects a body that is too large. Messages, bundles and chat histories may have `large` bytes. Other bodies may have `small` bytes. */
export function limitSize(large: number, small: number) {
  return async (c: Context<Env>, next: Next): Promise<void> => {
    const limit = /\/(?:turns|import|ag-ui|ui-message)$/.test(c.req.path) ? large : small
    const declared = c.req.header('content-length')
    if (Number(declared ?? 0) > limit) throw tooLarge()
    const { body } = c.req.raw
    if (body && declared === undefined) {
      const bytes = await readLimited(body, limit)
      // Hono stores a promise here, although its type is that of the resolved value
      c.req.bodyCache.arrayBuffer = Promise.resolve(bytes) as unknown as ArrayBuffer
    }
    await next()
  }
}

/** Reads a body of unknown length. Throws as soon as it is too large. */
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

const tooLarge = () => new RequestProblem(413, 'request.too_large', 'The request is too large.')

/** Rejects a body that is neither JSON nor a form for `/turns`. Also rejects JSON that is malformed or nested too deeply. */
export async function checkBody(c: Context<Env>, next: Next): Promise<void> {
  const type = c.req.header('content-type')
  if (type !== undefined && jsonType.test(type)) checkJson(await c.req.arrayBuffer())
  else if (hasBody(c) && !(type !== undefined && formType.test(type) && c.req.path.endsWith('/turns'))) {
    throw new RequestProblem(415, 'request.unsupported', 'Send application/json; messages may also be multipart/form-data.')
  }
  await next()
}

const jsonType = /^application\/(?:[\w.+-]+\+)?json(?:;\s*charset="?utf-8"?)?$/i
const formType = /^multipart\/form-data\b/i

const hasBody = (c: Context<Env>) => c.req.header('transfer-encoding') !== undefined || Number(c.req.header('content-length') ?? 0) > 0

function checkJson(bytes: ArrayBuffer): void {
  const text = decodeUtf8(bytes)
  if (jsonDepth(text) > maxJsonDepth) throw invalidRequest([{ message: `nested deeper than ${maxJsonDepth}` }])
  if (!isWellFormed(parseJsonText(text))) throw invalidRequest([{ message: 'the text contains half of a surrogate pair' }])
}

function decodeUtf8(bytes: ArrayBuffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw invalidRequest([{ message: 'the body is not UTF-8' }])
  }
}

function parseJsonText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw invalidRequest([{ message: 'the body is not JSON' }])
  }
}

/** How deep JSON may be nested. Requests are less deep, and recursive functions can handle this depth. */
const maxJsonDepth = 64

/** How deep brackets are nested in a text. The text is not parsed, because a recursive parser may fail on a deeply nested body. */
export function jsonDepth(text: string): number {
  let depth = 0
  let deepest = 0
  let quoted = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (quoted) {
      if (code === 92) at++
      else if (code === 34) quoted = false
    } else if (code === 34) quoted = true
    else if (code === 91 || code === 123) deepest = Math.max(deepest, ++depth)
    else if (code === 93 || code === 125) depth--
  }
  return deepest
}

/**
 * Whether no string contains half a surrogate pair, which a store would change. The function is recursive, so the depth must be
 * limited before.
 */
function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isWellFormed)
  return Object.entries(value).every(([key, item]) => key.isWellFormed() && isWellFormed(item))
}
