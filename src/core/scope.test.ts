import fc from 'fast-check'
import { expect, it } from 'vitest'
import { conversationKey, conversationKeyFilter, localScope, parseConversationKey, type Scope } from './scope.ts'

const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
const scopes = fc.oneof(fc.record({ tenant: word, project: word, user: word }), fc.constant(localScope))

const isKeyOf = (scope: Scope, key: string) => {
  const keys = conversationKeyFilter(scope)
  return 'plain' in keys ? !key.includes('/') : key.startsWith(keys.prefix)
}

it('reads back every scope and name', () => {
  fc.assert(
    fc.property(scopes, word, (scope, name) => {
      expect(parseConversationKey(conversationKey(scope, name))).toEqual({ scope, name })
    }),
  )
})

it('gives two scopes no key in common, and shows neither the keys of the other', () => {
  fc.assert(
    fc.property(scopes, scopes, word, (one, other, name) => {
      fc.pre(JSON.stringify(one) !== JSON.stringify(other))
      expect(conversationKey(one, name)).not.toBe(conversationKey(other, name))
      expect(isKeyOf(other, conversationKey(one, name))).toBe(false)
    }),
  )
})

it('knows a local conversation by its plain name', () => {
  expect(conversationKey(localScope, 'lisbon')).toBe('lisbon')
  expect(isKeyOf(localScope, 'lisbon')).toBe(true)
})

it('takes any other key as the name of a local conversation', () => {
  for (const name of ['lisbon', 'a/b', 'a/b/c/', '%/b/c/d', 'a/b/c/%64', '../x/y/z/w', 'local/default/local/x']) {
    expect(parseConversationKey(name)).toEqual({ scope: localScope, name })
  }
})

it('takes a key that holds half a character for a plain name, too', () => {
  expect(parseConversationKey('a/b/c/\ud800')).toEqual({ scope: localScope, name: 'a/b/c/\ud800' })
})
