import fc from 'fast-check'
import { expect, it } from 'vitest'
import { nativeNames, toolIdOf } from './native-names.ts'

it('a dot becomes two underscores, and the name leads back to the id', () => {
  const ids = ['react.read', 'exec_tools.execute_code_python']
  expect([...nativeNames(ids).values()]).toEqual(['react__read', 'exec_tools__execute_code_python'])
  expect(toolIdOf('react__read', ids)).toBe('react.read')
})

it('a model may write the id itself, and an unknown name is written like an id', () => {
  expect(toolIdOf('react.read', ['react.read'])).toBe('react.read')
  expect(toolIdOf(' web__search ', ['react.read'])).toBe('web.search')
  expect(toolIdOf('mcp__files__read__all', ['react.read'])).toBe('mcp.files.read__all')
})

it('an id with several dots gets a name of at most 64 characters, which leads back to it', () => {
  const ids = ['mcp.files.read', 'mcp.files.v1.read-all', `mcp.files.${'long-name.'.repeat(9)}read`]
  const names = [...nativeNames(ids).values()]
  expect(names.slice(0, 2)).toEqual(['mcp__files__read', 'mcp__files__v1__read-all'])
  expect(names[2]).toMatch(/^mcp__files__long-name__[a-z_-]{28}_[0-9a-f]{12}$/)
  expect(names.map((name) => toolIdOf(name, ids))).toEqual(ids)
})

it('two ids that would get the same name get different names', () => {
  const ids = ['a.b__c', 'a__b.c']
  const [first, second] = nativeNames(ids).values()
  expect(first).toMatch(/^a__b__c_[0-9a-f]{12}$/)
  expect(first).not.toBe(second)
  expect(second).toMatch(/^a__b__c_[0-9a-f]{12}$/)
  expect(toolIdOf(second ?? '', ids)).toBe('a__b.c')
})

it('every name is accepted by every provider, is the name of one tool only, and leads back to it', () => {
  const word = fc.stringMatching(/^[a-zA-Z][a-zA-Z0-9_]{0,60}$/)
  const id = fc.tuple(word, fc.array(word, { minLength: 1, maxLength: 4 })).map(([namespace, names]) => [namespace, ...names].join('.'))
  fc.assert(
    fc.property(fc.uniqueArray(id, { maxLength: 20 }), (ids) => {
      const names = [...nativeNames(ids).values()]
      expect(new Set(names).size).toBe(ids.length)
      for (const name of names) expect(name).toMatch(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/)
      expect(names.map((name) => toolIdOf(name, ids))).toEqual(ids)
    }),
  )
})
