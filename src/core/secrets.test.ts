import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { redact, stripAbsolutePaths } from './secrets.ts'

describe('redacting an error text of a library', () => {
  it.each([
    [
      '401 from https://api.example.com: Authorization: Bearer abc123SECRET',
      '401 from https://api.example.com: Authorization: Bearer [secret removed]',
    ],
    ['GET /v1?api_key=SECRETSECRET&q=rome failed', 'GET /v1?api_key=[secret removed]&q=rome failed'],
    ['{"password": "SECRET1", "user": "me"}', '{"password": "[secret removed]", "user": "me"}'],
    ['connect postgres://me:SECRET@db:5432/x refused', 'connect postgres://me:[secret removed]@db:5432/x refused'],
    ['Incorrect API key provided: sk-proj-SECRETSECRETSECRETSECRET.', 'Incorrect API key provided: [secret removed].'],
    ['bad credentials ghp_SECRETSECRETSECRET12', 'bad credentials [secret removed]'],
    ['key AKIAIOSFODNN7EXAMPLE is disabled', 'key [secret removed] is disabled'],
    ['jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.SECRETSIGNATURE expired', 'jwt [secret removed] expired'],
    ['GET /v1/eyJhbGciOiJIUzI1NiJ9 failed', 'GET /v1/[secret removed] failed'],
    [`password=${'SECRET'.repeat(2_000)} x`, 'password=[secret removed] x'],
    [`-----BEGIN PRIVATE KEY-----\nProc-Type: 4\n${'SECRET'.repeat(2_000)}`, '[secret removed]'],
    ['a -----BEGIN EC PRIVATE KEY-----\nSECRET=\n-----END EC PRIVATE KEY----- b', 'a [secret removed] b'],
    ["ENOENT: open '/home/me/SECRET/x.txt'", "ENOENT: open 'x.txt'"],
  ])('%s', (text, redacted) => {
    expect(redact(text)).toBe(redacted)
  })

  it.each([
    'The token limit of 4096 was reached.',
    'expected "}" at line 3: unexpected token',
    'The secret of Rome is its founding.',
    'see https://example.com/a:b@c for password rules',
    'task-force skeleton asks for pk of the table',
  ])('leaves a text alone that only mentions secrets: %s', (text) => {
    expect(redact(text)).toBe(text)
  })

  it('accepts any text, and redacting twice changes nothing more', () => {
    const piece = fc.constantFrom(
      'password=',
      'Bearer ',
      'sk-',
      'eyJ',
      '://',
      '@',
      ':',
      '"',
      'a'.repeat(20),
      ' ',
      '\n',
      '-----BEGIN PRIVATE KEY-----',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const once = redact(pieces.join(''))
        expect(redact(once)).toBe(once)
      }),
    )
  })
})

it.each([
  ["ENOENT: no such file, open '/home/me/secret/x.txt'", "ENOENT: no such file, open 'x.txt'"],
  ['at file:///srv/daybook/src/a.ts:3:5 (/tmp/b/)', 'at a.ts:3:5 (b)'],
  ['open C:\\Users\\me\\y.txt or D:/z.txt', 'open y.txt or z.txt'],
  ['dir=/var/lib/app', 'dir=app'],
])('cuts an absolute path to its last part: %s', (text, expected) => {
  expect(stripAbsolutePaths(text)).toBe(expected)
})

it.each([
  'GET https://example.com/home/me and http://a/tmp/b',
  'POST /v1/items/3 failed',
  'turn_1/files/tmp/a.md, fi:turn_1.files/home/a.md',
  '3/4 and/or 10:30',
])('leaves a text without absolute paths alone: %s', (text) => {
  expect(stripAbsolutePaths(text)).toBe(text)
})
