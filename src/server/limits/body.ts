import type { Context } from 'hono'
import type { Env } from '../handler.ts'
import { invalidRequest, RequestProblem } from '../problem.ts'

type Next = () => Promise<void>

/** Bundles, messages with files, and what chat clients send along of the past may be large; nothing else may. */
export function limitSize(large: number, small: number) {
  return async (c: Context<Env>, next: Next): Promise<void> => {
    const most = /\/(?:turns|import|ag-ui|ui-message)$/.test(c.req.path) ? large : small
    const declared = c.req.header('content-length')
    if (Number(declared ?? 0) > most) throw tooLarge()
    const { body } = c.req.raw
    if (body && declared === undefined) {
      const bytes = await readLimited(body, most)
      c.req.bodyCache.arrayBuffer = Promise.resolve(bytes) as unknown as ArrayBuffer // typed as what it comes to
    }
    await next()
  }
}

/** Who does not say how much is coming is heard until it is too much. */
async function readLimited(body: ReadableStream<Uint8Array>, most: number): Promise<ArrayBuffer> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of body) {
    size += piece.byteLength
    if (size > most) throw tooLarge()
    pieces.push(piece)
  }
  return Uint8Array.from(Buffer.concat(pieces)).buffer
}

const tooLarge = () => new RequestProblem(413, 'request.too_large', 'The request is too large.')

/** What reaches a route is JSON that any parser, store and model can hold, or a form where one is taken. */
export async function checkBody(c: Context<Env>, next: Next): Promise<void> {
  const type = c.req.header('content-type')
  if (type !== undefined && jsonType.test(type)) checkJson(await c.req.arrayBuffer())
  else if (hasBody(c) && !(type !== undefined && formType.test(type) && c.req.path.endsWith('/turns'))) {
    throw new RequestProblem(415, 'request.unsupported', 'Send application/json; messages also take multipart/form-data.')
  }
  await next()
}

const jsonType = /^application\/(?:[\w.+-]+\+)?json(?:;\s*charset="?utf-8"?)?$/i
const formType = /^multipart\/form-data\b/i

const hasBody = (c: Context<Env>) => c.req.header('transfer-encoding') !== undefined || Number(c.req.header('content-length') ?? 0) > 0

function checkJson(bytes: ArrayBuffer): void {
  const text = decodeUtf8(bytes)
  if (jsonDepth(text) > maxJsonDepth) throw invalidRequest([{ message: `nested deeper than ${maxJsonDepth}` }])
  if (!isWellFormed(parseJsonText(text))) throw invalidRequest([{ message: 'half of a surrogate pair is not a character' }])
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

/** Deeper than anything that means something, shallower than any stack. */
export const maxJsonDepth = 64

/** How deep brackets nest, without parsing: what is too deep must not reach a parser that recurses. */
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

/** No string in it holds half a character: stores would keep something else than was sent. Not for values that may nest without end. */
export function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isWellFormed)
  return Object.entries(value).every(([key, item]) => key.isWellFormed() && isWellFormed(item))
}
