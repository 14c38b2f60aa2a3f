import { createRoute, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { type App, createRoutes, type Env, type ServerParts } from '../handler.ts'
import { filePolicy } from '../headers.ts'
import { RequestProblem } from '../problem.ts'
import { problems } from './openapi.ts'

/** Media types that a browser may show. Files of other types are downloaded. */
const inlineTypes = /^(?:image\/(?:png|jpeg|gif|webp)|application\/pdf|text\/(?:plain|markdown|csv)|application\/json)$/

/** The route of files, by resource name. Callers can read only their own files. */
export function resourceRoutes({ agent: { archive } }: ServerParts): App {
  return createRoutes().openapi(route, async (c) => {
    const { rn } = c.req.valid('param')
    const file = await archive.file(rn, c.get('caller').scope)
    if (!file) throw new RequestProblem(404, 'resource.missing', 'There is no such file.')
    const tag = `"${file.blob.sha256}"`
    setFileHeaders(c, { mime: file.mime, filename: file.filename, tag, download: c.req.valid('query').download !== undefined })
    const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch, 'if-range': ifRange } = c.req.header()
    if (ifMatch !== undefined && !matchesEtag(ifMatch, tag)) throw new RequestProblem(412, 'resource.changed', 'The file has changed.')
    if (matchesEtag(ifNoneMatch, tag)) return c.body(null, 304)
    const bytes = await file.read()
    const range = ifRange !== undefined && ifRange !== tag ? 'all' : parseRange(c.req.header('range'), bytes.byteLength)
    if (range === 'all') return c.body(Uint8Array.from(bytes), 200, { 'content-length': String(bytes.byteLength) })
    if (range === 'none') {
      const size = { 'content-range': `bytes */${bytes.byteLength}` }
      throw new RequestProblem(416, 'resource.range', `The file has ${bytes.byteLength} bytes.`, { headers: size })
    }
    const [start, end] = range
    return c.body(Uint8Array.from(bytes.subarray(start, end + 1)), 206, {
      'content-range': `bytes ${start}-${end}/${bytes.byteLength}`,
      'content-length': String(end - start + 1),
    })
  }) as App
}

const route = createRoute({
  method: 'get',
  path: '/v1/resources/{rn}',
  summary: 'The bytes of a file',
  request: { params: z.object({ rn: z.string().max(4096) }), query: z.strictObject({ download: z.string().optional() }) },
  responses: {
    200: { description: 'the file', content: { 'application/octet-stream': { schema: z.string() } } },
    206: { description: 'a range of the file', content: { 'application/octet-stream': { schema: z.string() } } },
    304: { description: 'not modified' },
    ...problems(401, 404, 412, 416),
  },
})

function setFileHeaders(c: Context<Env>, file: { mime: string; filename: string; tag: string; download: boolean }): void {
  const type = file.mime.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const inline = inlineTypes.test(type)
  c.header('content-type', inline ? (type.startsWith('text/') ? `${type}; charset=utf-8` : type) : 'application/octet-stream')
  c.header('content-disposition', disposition(inline && !file.download ? 'inline' : 'attachment', file.filename))
  c.header('content-security-policy', filePolicy)
  c.header('etag', file.tag)
  c.header('accept-ranges', 'bytes')
  c.header('cache-control', 'private, no-cache')
}

/** The header `Content-Disposition` (RFC 6266). `filename` is for clients that can not read `filename*`, and has only ASCII characters. */
function disposition(kind: 'inline' | 'attachment', filename: string): string {
  const plain = filename.replace(/[^\w. -]/g, '_')
  return `${kind}; filename="${plain}"; filename*=UTF-8''${encodeURIComponent(filename.toWellFormed()).replace(/['()*]/g, percentEncode)}`
}

const percentEncode = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`

/** The first and last byte to send. `all` if the header has no supported range, `none` if the range is outside of the file. */
function parseRange(header: string | undefined, size: number): 'all' | 'none' | readonly [start: number, end: number] {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return 'all' // several ranges: the whole file is sent
  if (first === '') return Number(last) === 0 || size === 0 ? 'none' : [Math.max(0, size - Number(last)), size - 1]
  const [start, end] = [Number(first), last === '' ? size - 1 : Math.min(Number(last), size - 1)]
  if (last !== '' && Number(last) < start) return 'all' // an invalid range is ignored
  return start >= size ? 'none' : [start, end]
}

/** Whether a header that lists entity tags contains this tag. */
function matchesEtag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false
  return header.trim() === '*' || header.split(',').some((each) => each.trim().replace(/^W\//, '') === tag)
}
