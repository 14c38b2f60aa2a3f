import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  callerKey,
  childKey,
  conversationKey,
  conversationKeyFilter,
  depthOf,
  isChildKey,
  localScope,
  parseConversationKey,
  type Scope,
} from './scope.ts'

const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
const scopes = fc.oneof(fc.record({ tenant: word, project: word, user: word }), fc.constant(localScope))

const isKeyIn = (scope: Scope, key: string) => {
  const keys = conversationKeyFilter(scope)
  return 'plain' in keys ? !key.includes('/') : key.startsWith(keys.prefix)
}

it('parses every key back to its scope and name', () => {
  fc.assert(
    fc.property(scopes, word, (scope, name) => {
      expect(parseConversationKey(conversationKey(scope, name))).toEqual({ scope, name })
    }),
  )
})

it('gives two scopes different keys, and the filter of one scope excludes the keys of the other', () => {
  fc.assert(
    fc.property(scopes, scopes, word, (one, other, name) => {
      fc.pre(JSON.stringify(one) !== JSON.stringify(other))
      expect(conversationKey(one, name)).not.toBe(conversationKey(other, name))
      expect(isKeyIn(other, conversationKey(one, name))).toBe(false)
    }),
  )
})

it('uses the plain name as the key of a local conversation', () => {
  expect(conversationKey(localScope, 'lisbon')).toBe('lisbon')
  expect(isKeyIn(localScope, 'lisbon')).toBe(true)
})

it('reads any other text as the name of a local conversation', () => {
  for (const name of ['lisbon', 'a/b', 'a/b/c/', '%/b/c/d', 'a/b/c/%64', '../x/y/z/w', 'local/default/local/x']) {
    expect(parseConversationKey(name)).toEqual({ scope: localScope, name })
  }
})

it('reads a text with a lone surrogate as a plain name', () => {
  expect(parseConversationKey('a/b/c/\ud800')).toEqual({ scope: localScope, name: 'a/b/c/\ud800' })
})

it('knows the conversations of sub-agents by their names alone, whatever their users are called', () => {
  for (const user of ['ann', 'ann~call_1', '~call_']) {
    const key = conversationKey({ tenant: 'a~call_', project: 'p', user }, 'c1')
    const child = childKey(key, '1')
    expect([isChildKey(key), callerKey(key), depthOf(key)]).toEqual([false, undefined, 0])
    expect([isChildKey(child), callerKey(child), depthOf(childKey(child, '2'))]).toEqual([true, key, 2])
  }
})
