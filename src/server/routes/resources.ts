import { createRoute, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { DownloadableFile } from '../../agent/archive/archive.ts'
import { mayDownload } from '../auth/viewer.ts'
import { downloadBody } from '../download.ts'
import { type App, createRoutes, type Env, type ServerParts } from '../handler.ts'
import { filePolicy } from '../headers.ts'
import type { StreamQuota } from '../limits/quotas.ts'
import { RequestProblem } from '../problem.ts'
import { problems } from './openapi.ts'

/** Media types that a browser may show in a tab. The browser saves files of all other types. */
const inlineTypes = /^(?:image\/(?:png|jpeg|gif|webp)|application\/pdf|text\/(?:plain|markdown|csv)|application\/json)$/

/** The route of files, by resource name. Callers can read only their own files. Users can not read internal files. */
export function resourceRoutes({ agent: { archive }, log, settings }: ServerParts, downloads: StreamQuota): App {
  return createRoutes().openapi(route, async (c) => {
    const caller = c.get('caller')
    const file = (await archive.file(c.req.valid('param').rn, caller.scope)) ?? (await archive.file(lastSegment(c.req.url), caller.scope))
    if (!file || !(await mayDownload(caller, file, settings))) throw new RequestProblem(404, 'resource.missing', 'There is no such file.')
    const { sha256, size } = file.blob
    const tag = `"${sha256}"`
    const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = c.req.header()
    if (ifMatch !== undefined && !matchesEtag(ifMatch, tag, 'strong')) {
      throw new RequestProblem(412, 'resource.changed', 'The file has changed.')
    }
    const isUnchanged = ifNoneMatch !== undefined && matchesEtag(ifNoneMatch, tag, 'weak')
    const range = isUnchanged ? 'all' : requestedRange(c, tag, size)
    if (range === 'none') {
      const headers = { 'content-range': `bytes */${size}` }
      throw new RequestProblem(416, 'resource.range', `The file has ${size} bytes.`, { headers })
    }
    const fileHeaders = headersOf(file, tag, c.req.valid('query').download !== undefined)
    if (isUnchanged) return c.body(null, 304, fileHeaders)
    const headers = { ...fileHeaders, 'content-length': String(size) }
    if (c.req.method === 'HEAD') return c.body(null, 200, headers)
    const body = await downloadBody(file.stream(range === 'all' ? undefined : range), {
      onError: (error) => log('error', 'download.failed', { request_id: c.get('requestId'), error }),
      onEnd: downloads.acquire(caller.scope),
    })
    if (range === 'all') return c.body(body, 200, headers)
    const { start, end } = range
    const position = { 'content-range': `bytes ${start}-${end - 1}/${size}`, 'content-length': String(end - start) }
    return c.body(body, 206, { ...headers, ...position })
  }) as App
}

/**
 * The last part of the path as the client wrote it. A resource name has percent signs of its own (`%2F`). If a client has not encoded the
 * name again, the router has decoded these percent signs, and the result is not the resource name.
 */
const lastSegment = (url: string): string => new URL(url).pathname.split('/').at(-1) ?? ''

const route = createRoute({
  method: 'get',
  path: '/v1/resources/{rn}',
  summary: 'The bytes of a file',
  request: {
    params: z.object({ rn: z.string().max(4096).describe('The handle of the file, with `encodeURIComponent`.') }),
    query: z.strictObject({ download: z.string().optional().describe('Browsers save the file and do not show it.') }),
  },
  responses: {
    200: { description: 'the file', content: { 'application/octet-stream': { schema: z.string() } } },
    206: { description: 'a range of the file', content: { 'application/octet-stream': { schema: z.string() } } },
    304: { description: 'not modified' },
    ...problems(401, 404, 412, 416, 429),
  },
})

function headersOf(file: Pick<DownloadableFile, 'mime' | 'filename'>, tag: string, download: boolean): Record<string, string> {
  const type = file.mime.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const inline = inlineTypes.test(type)
  return {
    'content-type': inline ? (type.startsWith('text/') ? `${type}; charset=utf-8` : type) : 'application/octet-stream',
    'content-disposition': disposition(inline && !download ? 'inline' : 'attachment', file.filename),
    'content-security-policy': filePolicy,
    etag: tag,
    'accept-ranges': 'bytes',
    'cache-control': 'private, no-cache',
  }
}

/** The header `Content-Disposition` (RFC 6266). `filename` is for clients that can not read `filename*`, and has only ASCII characters. */
function disposition(kind: 'inline' | 'attachment', filename: string): string {
  const plain = filename.replace(/[^\w. -]/g, '_')
  return `${kind}; filename="${plain}"; filename*=UTF-8''${encodeURIComponent(filename.toWellFormed()).replace(/['()*]/g, percentEncode)}`
}

const percentEncode = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`

type Range = NonNullable<Parameters<DownloadableFile['stream']>[0]>

/**
 * The range of bytes that the request asks for. Returns `all` if the whole file is to be sent: the request has no valid `Range`, has
 * several ranges or is not GET. Also returns `all` if `If-Range` names another version of the file, because the client can not combine two
 * versions. Returns `none` if the range contains no byte of the file.
 */
function requestedRange(c: Context<Env>, tag: string, size: number): 'all' | 'none' | Range {
  const { range, 'if-range': ifRange } = c.req.header()
  if (c.req.method !== 'GET' || (ifRange !== undefined && ifRange !== tag)) return 'all'
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(range ?? '') ?? []
  // no range, several ranges, or a form that is not supported
  if (first === undefined || last === undefined || (first === '' && last === '')) return 'all'
  if (first === '') {
    if (Number(last) === 0) return 'none'
    return size === 0 ? 'all' : { start: Math.max(0, size - Number(last)), end: size }
  }
  const start = Number(first)
  if (last !== '' && Number(last) < start) return 'all' // an invalid range is ignored
  return start >= size ? 'none' : { start, end: last === '' ? size : Math.min(Number(last) + 1, size) }
}

/**
 * Whether a header with a list of entity tags contains this tag. A weak tag begins with `W/`. Such a tag matches only in a `weak`
 * comparison.
 */
function matchesEtag(header: string, tag: string, comparison: 'strong' | 'weak'): boolean {
  const tags = header.split(',').map((each) => each.trim())
  return header.trim() === '*' || tags.includes(tag) || (comparison === 'weak' && tags.includes(`W/${tag}`))
}
