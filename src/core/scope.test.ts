import fc from 'fast-check'
import { expect, it } from 'vitest'
import { conversationKey, localScope, readConversationKey, scopePrefix } from './scope.ts'

const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 })

it('reads back every scope and name', () => {
  fc.assert(
    fc.property(word, word, word, word, (tenant, project, user, name) => {
      const scope = { tenant, project, user }
      expect(readConversationKey(conversationKey(scope, name))).toEqual({ scope, name })
      expect(conversationKey(scope, name).startsWith(scopePrefix(scope))).toBe(true)
    }),
  )
})

it('gives two scopes no key in common, and neither the prefix of the other', () => {
  const scope = fc.record({ tenant: word, project: word, user: word })
  fc.assert(
    fc.property(scope, scope, word, (one, other, name) => {
      fc.pre(JSON.stringify(one) !== JSON.stringify(other))
      expect(conversationKey(one, name).startsWith(scopePrefix(other))).toBe(false)
    }),
  )
})

it('takes any other name as a local conversation', () => {
  for (const name of ['lisbon', 'a/b', 'a/b/c/', '%/b/c/d', 'a/b/c/%64', '../x/y/z/w']) {
    expect(readConversationKey(name)).toEqual({ scope: localScope, name })
  }
})
