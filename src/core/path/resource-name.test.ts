import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  conversationPrefix,
  formatResourceName,
  parseResourceName,
  parseStorageKey,
  type ResourceName,
  storageKey,
  turnPrefix,
} from './resource-name.ts'
import { unsafeReason } from './safety.ts'

const tricky = fc.constantFrom(
  '..',
  '.',
  '/',
  'a/b',
  'a%2Fb',
  'a:b',
  '%',
  '~',
  '~2f',
  'A',
  'é',
  '日本',
  ' ',
  '\n',
  '\u202e',
  "!'()*",
  'a.b',
)
const part = fc.oneof(tricky, fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }), fc.string({ minLength: 1, maxLength: 12 }))
/** Ids that are longer than the name of a folder may be when they are escaped. */
const longId = fc.string({ unit: fc.constantFrom('A', 'b', '_'), minLength: 80, maxLength: 128 })
const path = fc
  .array(fc.oneof(fc.constantFrom('files', 'report.pdf', 'a b', '%41', '~', '日本.md', '.env', 'x=1&y'), part), {
    minLength: 1,
    maxLength: 4,
  })
  .map((segments) => segments.join('/'))
  .filter((text) => unsafeReason(text) === undefined)
const name: fc.Arbitrary<ResourceName> = fc.record({
  owner: fc.record({ tenant: part, project: part, user: part }),
  conversationId: part,
  turnId: part,
  stage: fc.constantFrom('file', 'attachment'),
  physicalPath: path,
})

const example: ResourceName = {
  owner: { tenant: 'acme', project: 'books', user: 'ann@example.com' },
  conversationId: 'c1',
  turnId: 'turn_1',
  stage: 'file',
  physicalPath: 'turn_1/files/q3 report.pdf',
}

it('formats a name as resource name and as storage key', () => {
  expect(formatResourceName(example)).toBe(
    'ef:acme:books:chatbot:file:ann%40example.com:c1:turn_1:artifact:turn_1%2Ffiles%2Fq3%20report.pdf',
  )
  expect(storageKey(example)).toBe('daybook/tenants/acme/projects/books/files/ann~40example~2ecom/c1/turn_1/turn_1/files/q3 report.pdf')
  expect(turnPrefix(example)).toBe(`${conversationPrefix(example)}/turn_1`)
})

describe.each([
  ['resource name', formatResourceName, parseResourceName],
  ['storage key', storageKey, parseStorageKey],
] as const)('a %s', (_, format, parse) => {
  it('contains the whole name and is parsed back to it', () => {
    fc.assert(fc.property(name, (given) => void expect(parse(format(given))).toEqual(given)))
  })

  it('differs when any part of the name differs', () => {
    fc.assert(fc.property(name, name, (a, b) => void expect(format(a) === format(b)).toBe(JSON.stringify(a) === JSON.stringify(b))))
  })

  it('has one spelling: a text that is parsed is the text that is formatted', () => {
    let accepted = 0
    const mutated = fc
      .tuple(name, fc.nat(), fc.constantFrom('%', '2', 'F', 'f', ':', '/', '.', '~', 'A', ' ', ''))
      .map(([given, at, sign]) => {
        const text = format(given)
        return text.slice(0, at % text.length) + sign + text.slice((at % text.length) + 1)
      })
    fc.assert(
      fc.property(fc.oneof(mutated, fc.string()), (text) => {
        const parsed = parse(text)
        if (!parsed) return
        accepted++
        expect(format(parsed)).toBe(text)
      }),
      { numRuns: 2_000 },
    )
    expect(accepted).toBeGreaterThan(50)
  })
})

it('has different storage keys for different names on a disk that ignores case', () => {
  const numRuns = 100
  let different = 0
  fc.assert(
    fc.property(name, name, (a, b) => {
      const [one, other] = [turnPrefix(a), turnPrefix(b)]
      expect(one).toBe(one.toLowerCase())
      expect(unsafeReason(one)).toBe(undefined)
      if (JSON.stringify({ ...a, physicalPath: '' }) === JSON.stringify({ ...b, physicalPath: '' })) return
      different++
      expect(one).not.toBe(other)
    }),
    { numRuns },
  )
  expect(different).toBeGreaterThan(numRuns / 2)
})

it.each([
  ['nothing', ''],
  ['another scheme', 'xx:acme:books:chatbot:file:u:c:t:artifact:a'],
  ['another role', 'ef:acme:books:chatbot:file:u:c:t:user:a'],
  ['another stage', 'ef:acme:books:chatbot:message:u:c:t:artifact:a'],
  ['a part too few', 'ef:acme:books:chatbot:file:u:c:t:artifact'],
  ['a part too many', 'ef:acme:books:chatbot:file:u:c:t:artifact:a:b'],
  ['an empty part', 'ef::books:chatbot:file:u:c:t:artifact:a'],
  ['an unencoded slash', 'ef:acme:books:chatbot:file:u:c:t:artifact:a/b'],
  ['a letter encoded for no reason', 'ef:%61cme:books:chatbot:file:u:c:t:artifact:a'],
  ['small hex digits', 'ef:acme:books:chatbot:file:u:c:t:artifact:a%2fb'],
  ['half an encoding', 'ef:acme:books:chatbot:file:u:c:t:artifact:a%2'],
  ['a path that leads out', 'ef:acme:books:chatbot:file:u:c:t:artifact:..%2Fa'],
  ['a name without end', `ef:acme:books:chatbot:file:u:c:t:artifact:${'a'.repeat(9_000)}`],
])('rejects as resource name: %s', (_, text) => {
  expect(parseResourceName(text)).toBe(undefined)
})

it('splits a long id into segments that every disk accepts, and reads it back', () => {
  fc.assert(
    fc.property(longId, longId, fc.constantFrom('report.pdf', 'a~/b~', '~~'), (conversationId, other, physicalPath) => {
      const given = { ...example, conversationId, physicalPath }
      const key = storageKey(given)
      expect(Math.max(...key.split('/').map((segment) => segment.length))).toBeLessThanOrEqual(255)
      expect(parseStorageKey(key)).toEqual(given)
      if (other !== conversationId)
        expect(`${conversationPrefix({ ...given, conversationId: other })}/`.startsWith(`${conversationPrefix(given)}/`)).toBe(false)
    }),
  )
})
