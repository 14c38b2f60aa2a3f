import { type Attempt, json, post } from './attempt.ts'

const turns = '/v1/conversations/mine/turns'
const conversations = '/v1/conversations'
const invalid = 'request.invalid'
const boundary = 'xxBOUNDARYxx'
const form = { 'content-type': `multipart/form-data; boundary=${boundary}` }

const part = (disposition: string, content: string, more = '') =>
  `--${boundary}\r\nContent-Disposition: ${disposition}\r\n${more}\r\n${content}\r\n`
const whole = (...parts: readonly string[]) => `${parts.join('')}--${boundary}--\r\n`
const multipart = (what: string, body: string | Uint8Array, status = 400, code = invalid): Attempt => ({
  description: `multipart: ${what}`,
  request: () => ({ method: 'POST', path: turns, headers: form, body }),
  status,
  code,
})

function* pieces(count: number): Generator<Uint8Array> {
  const piece = Buffer.alloc(1024 * 1024, 'x')
  for (let index = 0; index < count; index++) yield piece
}

const typed = (what: string, type: string | undefined, path = conversations): Attempt => ({
  description: `of the wrong type: ${what}`,
  request: () => ({ method: 'POST', path, headers: type === undefined ? {} : { 'content-type': type }, body: '{"title":"x"}' }),
  status: 415,
  code: 'request.unsupported',
})

/** Bodies that are too large, too deep, malformed, or of another type than declared. */
export const bodyAttempts: readonly Attempt[] = [
  {
    description: 'a body with an enormous content-length',
    request: () => ({ method: 'POST', path: conversations, headers: { ...json, 'content-length': '99999999999' }, body: [] }),
    status: 413,
    code: 'request.too_large',
  },
  {
    description: 'an upload with an enormous content-length',
    request: () => ({ method: 'POST', path: turns, headers: { ...form, 'content-length': '99999999999' }, body: [] }),
    status: 413,
    code: 'request.too_large',
  },
  {
    description: 'a chunked body that is too long',
    request: () => ({ method: 'POST', path: conversations, headers: json, body: pieces(3) }),
    status: 413,
    code: 'request.too_large',
  },
  {
    description: 'a chunked upload that is too long',
    request: () => ({ method: 'POST', path: turns, headers: form, body: pieces(40) }),
    status: 413,
    code: 'request.too_large',
  },
  {
    description: 'a body for a route that takes none',
    request: () => ({ method: 'POST', path: '/v1/conversations/mine/stop', headers: json, body: pieces(3) }),
    status: 413,
    code: 'request.too_large',
  },
  post('1,000 nested lists', conversations, `${'['.repeat(1_000)}${']'.repeat(1_000)}`, 400, invalid),
  post('1,000 nested objects', turns, `${'{"a":'.repeat(1_000)}1${'}'.repeat(1_000)}`, 400, invalid),
  post('100,000 brackets that never close', '/v1/conversations/import', '['.repeat(100_000), 400, invalid),
  post('incomplete JSON', conversations, '{"title":', 400, invalid),
  post('an empty body', conversations, '', 400, invalid),
  post('a list', conversations, '[]', 400, invalid),
  post('null', turns, 'null', 400, invalid),
  post('a number with a thousand digits', conversations, `{"title":${'9'.repeat(1_000)}}`, 400, invalid),
  post('a repeated key with an invalid second value', conversations, '{"id":"good","id":"../bad"}', 400, invalid),
  post('__proto__', conversations, '{"id":"good","__proto__":{"admin":true}}', 400, invalid),
  post('constructor', conversations, '{"id":"good","constructor":{"prototype":{"admin":true}}}', 400, invalid),
  post('a lone surrogate in a title', conversations, '{"title":"\\ud800"}', 400, invalid),
  post('a lone surrogate in a message', turns, '{"text":"\\udc00 hello"}', 400, invalid),
  post('a lone surrogate in the name of a file', turns, '{"text":"x","attachments":[{"name":"\\ud83d","base64":"eA=="}]}', 400, invalid),
  post(
    'a lone surrogate in a bundle',
    '/v1/conversations/import?as=torn',
    '{"version":1,"blocks":[{"type":"user.prompt","text":"\\ud800"}]}',
    400,
    invalid,
  ),
  post('bytes that are not UTF-8', conversations, Buffer.from([0x7b, 0x22, 0x69, 0x64, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d]), 400, invalid),
  post('a line break in a title', conversations, '{"title":"x\\r\\nset-cookie: a=b"}', 400, invalid),
  post('a NUL in a title', conversations, '{"title":"x\\u0000y"}', 400, invalid),
  post('an escape sequence in a title', conversations, '{"title":"\\u001b[2Jx"}', 400, invalid),
  post('a title that is too long', conversations, JSON.stringify({ title: 'x'.repeat(201) }), 400, invalid),
  post('a name with a slash', conversations, '{"id":"a/b"}', 400, invalid),
  post('a name with a line break', conversations, '{"id":"a\\n"}', 400, invalid),
  post('a name that is a list', conversations, '{"id":["a"]}', 400, invalid),
  post('a blank message', turns, '{"text":"  "}', 400, invalid),
  post('a mode that does not exist', turns, '{"text":"x","mode":"sudo"}', 400, invalid),
  post('an own turn id', turns, '{"text":"x","turn_id":"turn_1"}', 400, invalid),
  post('a file that is not base64', turns, '{"text":"x","attachments":[{"name":"a.txt","base64":"%%%"}]}', 400, invalid),
  post('a file in another base64', turns, '{"text":"x","attachments":[{"name":"a.txt","base64":"_-8"}]}', 400, invalid),
  post('21 files', turns, JSON.stringify({ text: 'x', attachments: Array(21).fill({ name: 'a', base64: '' }) }), 400, invalid),
  post('a steer with a file', turns, '{"text":"x","mode":"steer","attachments":[{"name":"a.txt","base64":"eA=="}]}', 400, invalid),
  post(
    'a program as a file',
    turns,
    `{"text":"x","attachments":[{"name":"a.exe","base64":"${btoa('MZ\x90\0\x03')}"}]}`,
    400,
    'attachment.rejected',
  ),
  post('a bundle of an unknown version', '/v1/conversations/import', '{"format":"daybook.bundle","version":99}', 422, 'bundle.invalid'),
  post('null as a bundle', '/v1/conversations/import', 'null', 422, 'bundle.invalid'),
  post(
    'feedback on a turn of 100,000 letters',
    '/v1/conversations/mine/feedback',
    JSON.stringify({ turn_id: 't'.repeat(100_000) }),
    400,
    invalid,
  ),
  post(
    'a fork at a turn of 100,000 letters',
    '/v1/conversations/mine/fork',
    JSON.stringify({ at_turn: 't'.repeat(100_000) }),
    400,
    invalid,
  ),
  post('a fork at a turn and an entry', '/v1/conversations/mine/fork', '{"at_turn":"turn_1","at_seq":3}', 400, invalid),
  post('a fork at an entry that is no number', '/v1/conversations/mine/fork', '{"at_seq":"3"}', 400, invalid),
  post('a fork at an entry below zero', '/v1/conversations/mine/fork', '{"at_seq":-3}', 400, invalid),
  post('a fork at an entry after the last', '/v1/conversations/mine/fork', '{"at_seq":999999999}', 422, 'change.invalid'),
  post('AG-UI without a message', '/v1/conversations/mine/ag-ui', '{"threadId":"t","runId":"r","messages":[]}', 400, invalid),
  post('AG-UI with a list for a body', '/v1/conversations/mine/ag-ui', '[1]', 400, invalid),
  post('the AI SDK without a message', '/v1/conversations/mine/ui-message', '{"messages":[]}', 400, invalid),
  post(
    'the AI SDK asking to regenerate a message',
    '/v1/conversations/mine/ui-message',
    '{"trigger":"regenerate-message","messages":[{"role":"user","parts":[{"type":"text","text":"x"}]}]}',
    400,
    invalid,
  ),
  typed('text', 'text/plain'),
  typed('a form', 'application/x-www-form-urlencoded'),
  typed('none', undefined),
  typed('a type that begins like JSON', 'application/jsonp'),
  typed('multipart on a route that does not accept it', form['content-type']),
  typed('XML for a message', 'application/xml', turns),
  typed('text for a bundle', 'text/plain', '/v1/conversations/import'),
  typed('text for feedback', 'text/plain', '/v1/conversations/mine/feedback'),
  {
    ...multipart('no boundary', 'x'),
    request: () => ({ method: 'POST', path: turns, headers: { 'content-type': 'multipart/form-data' }, body: 'x' }),
  },
  multipart('never closed', part('form-data; name="text"', 'hello')),
  multipart('another boundary', '--other\r\n\r\n--other--\r\n'),
  multipart('binary data', Buffer.from([0, 1, 2, 3, 255, 254])),
  multipart('an unknown field', whole(part('form-data; name="text"', 'x'), part('form-data; name="admin"', 'true'))),
  multipart('__proto__ for a field', whole(part('form-data; name="__proto__"', 'x'))),
  multipart('text for a file', whole(part('form-data; name="text"', 'x'), part('form-data; name="files"', 'not a file'))),
  multipart('a file for a text', whole(part('form-data; name="text"; filename="a.txt"', 'x'))),
  multipart('two texts', whole(part('form-data; name="text"', 'x'), part('form-data; name="text"', 'y'))),
  multipart('10,000 fields', whole(...Array.from({ length: 10_000 }, () => part('form-data; name="mode"', 'steer')))),
  multipart('10,000 files', whole(...Array.from({ length: 10_000 }, () => part('form-data; name="files"; filename="a.txt"', 'x')))),
  multipart('a header in a file name', whole(part('form-data; name="files"; filename="a.txt\r\nContent-Type: text/html"', 'x'))),
  multipart(
    'a program as a file',
    whole(part('form-data; name="files"; filename="a.png"', 'MZ\x90\0\x03', 'Content-Type: image/png\r\n')),
    400,
    'attachment.rejected',
  ),
]
