import { type Attempt, get } from './attempt.ts'
import type { HostileFixture, Mode } from './fixture.ts'
import type { HostileRequest } from './send.ts'

const events = '/v1/conversations/mine/events'
const invalid = 'request.invalid'
const method = 'route.method'

const cursor = (what: string, id: string): Attempt => ({
  description: `an event id: ${what}`,
  request: () => ({ path: events, headers: { 'last-event-id': id } }),
  status: 400,
  code: invalid,
})

const by = (what: string, ask: HostileRequest, status = 405, code = method): Attempt => ({
  description: what,
  request: () => ask,
  status,
  code,
})

const ofFile = (what: string, headers: Readonly<Record<string, string>>, status: number, code?: string): Attempt => ({
  description: `of a file: ${what}`,
  request: ({ file }, mode) => ({ path: `/v1/resources/${encodeURIComponent(file[mode])}`, headers }),
  status,
  ...(code !== undefined && { code }),
})

const named = (what: string, key: string): Attempt => ({
  description: `an idempotency key: ${what}`,
  request: () => ({
    method: 'POST',
    path: '/v1/conversations/mine/turns',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: '{"text":"x"}',
  }),
  status: 400,
  code: invalid,
})

const bytes = (what: string, make: (host: string) => string | Uint8Array, status = 400, code = 'request.broken'): Attempt => ({
  description: `on the bare line: ${what}`,
  request: (fixture, mode) => ({ bytes: make(hostOf(fixture, mode)) }),
  status,
  code,
})

const hostOf = ({ url }: HostileFixture, mode: Mode) => new URL(url[mode]).host
const head =
  (line: string, ...more: readonly string[]) =>
  (host: string) =>
    [line, `Host: ${host}`, ...more, '', ''].join('\r\n')

/** Unusual methods, cursors, ranges, idempotency keys and malformed HTTP. */
export const methodAttempts: readonly Attempt[] = [
  cursor('below nothing', '-1'),
  cursor('a half', '0.5'),
  cursor('a part of a part', '1.5.2'),
  cursor('no number', 'latest'),
  cursor('in another notation', '0x1'),
  cursor('with an exponent', '1e3'),
  cursor('400 digits', '9'.repeat(400)),
  cursor('beyond the end', '999999999999'),
  cursor('two', '1, 2'),
  get('after: negative', `${events}?after=-1`, 400, invalid),
  get('after: a fraction', `${events}?after=0.5`, 400, invalid),
  get('after: not a number', `${events}?after=NaN`, 400, invalid),
  get('after: with an exponent', `${events}?after=1e0`, 400, invalid),
  get('after: beyond the end', `${events}?after=1000000`, 400, invalid),
  get('after: twice', `${events}?after=0&after=-1`, 400, invalid),
  get('a format that does not exist', `${events}?as=shell`, 400, invalid),
  named('with a space', 'a b'),
  named('with dots and slashes', '../../x'),
  named('with a header in it', 'x%0d%0aset-cookie:a'),
  named('of 65 characters', 'k'.repeat(65)),
  named('in another alphabet', 'ключ'.split('').map(encodeURIComponent).join('')),
  by('PUT', { method: 'PUT', path: '/v1/conversations' }),
  by('DELETE of everything', { method: 'DELETE', path: '/v1/conversations' }),
  by('OPTIONS', { method: 'OPTIONS', path: '/v1/conversations/mine' }),
  by('TRACE', { method: 'TRACE', path: '/v1/conversations/mine' }),
  by('PROPFIND', { method: 'PROPFIND', path: '/v1/conversations/mine' }),
  by('a stop by GET', { path: '/v1/conversations/mine/stop' }),
  by('another method in a header', { method: 'POST', path: '/v1/conversations/mine', headers: { 'x-http-method-override': 'DELETE' } }),
  by('another method in the query', { method: 'POST', path: '/v1/conversations/mine?_method=DELETE' }),
  by('another method in a body', {
    method: 'POST',
    path: '/v1/conversations/mine',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: '_method=DELETE',
  }),
  by('a method on a path that does not exist', { method: 'DELETE', path: '/v1/nothing' }, 404, 'route.missing'),
  by(
    'another path in a header',
    { path: '/v1/nothing', headers: { 'x-original-url': '/v1/conversations', 'x-rewrite-url': '/metrics' } },
    404,
    'route.missing',
  ),
  ofFile('a range after its end', { range: 'bytes=999999-' }, 416, 'resource.range'),
  ofFile('the last zero bytes', { range: 'bytes=-0' }, 416, 'resource.range'),
  ofFile('a range backwards', { range: 'bytes=5-1' }, 200),
  ofFile('a range beyond 64 bits', { range: 'bytes=18446744073709551615-' }, 200),
  ofFile('a thousand ranges', { range: `bytes=${Array.from({ length: 1_000 }, () => '0-').join(',')}` }, 200),
  ofFile('a range in lines', { range: 'lines=1-2' }, 200),
  ofFile('a range with an if-range of another version', { range: 'bytes=0-1', 'if-range': '"something else"' }, 200),
  ofFile('if-none-match: *', { 'if-none-match': '*' }, 304),
  ofFile('a thousand tags', { 'if-none-match': Array.from({ length: 300 }, (_, index) => `"${index}"`).join(', ') }, 200),
  ofFile('if-match of another version', { 'if-match': '"something else"' }, 412, 'resource.changed'),
  bytes('a request that is not HTTP', () => 'hello?\r\n\r\n'),
  bytes('bytes', () => Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03])),
  bytes('an unknown HTTP version', head('GET / HTTP/9.9')),
  bytes('an unknown method', head('STEAL / HTTP/1.1')),
  bytes('two lengths', head('POST /v1/conversations HTTP/1.1', 'Content-Length: 2', 'Content-Length: 20')),
  bytes('a length and chunks', head('POST /v1/conversations HTTP/1.1', 'Content-Length: 2', 'Transfer-Encoding: chunked')),
  bytes('a negative length', head('POST /v1/conversations HTTP/1.1', 'Content-Length: -5')),
  bytes('an invalid chunk', (host) => `${head('POST /v1/conversations HTTP/1.1', 'Transfer-Encoding: chunked')(host)}zz\r\n`),
  bytes('a header with a NUL', head('GET / HTTP/1.1', 'X-Nul: a\0b')),
  bytes('a header on two lines', head('GET / HTTP/1.1', ' folded: yes')),
  bytes('a header name with a space', head('GET / HTTP/1.1', 'X Name: a')),
  { ...bytes('no Host', () => 'GET /v1/conversations HTTP/1.1\r\n\r\n', 403, 'host.refused'), mode: 'local' },
  { ...bytes('no Host, and no token', () => 'GET /v1/conversations HTTP/1.1\r\n\r\n', 401, 'token.refused'), mode: 'bearer' },
  bytes('a space in the path', head('GET /v1/conv ersations HTTP/1.1')),
  bytes('100 KB of headers', head('GET / HTTP/1.1', `X-Long: ${'x'.repeat(100_000)}`), 431, 'request.too_large'),
]
