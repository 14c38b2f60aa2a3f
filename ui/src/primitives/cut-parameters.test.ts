import { expect, it } from 'vitest'
import { shortenParams } from '../../../src/tools/display-params.ts'
import { cutContent, isCut } from './cut-parameters.ts'

const shown = (toolId: string, params: Parameters<typeof shortenParams>[1]) => shortenParams(toolId, params, { turnId: 't', callId: 'c' })

it('the content of a file that the server cut is recognised, and shown without the internal path', () => {
  const { content } = shown('react.write', { path: 'files/a.md', content: 'word '.repeat(40) })
  expect(cutContent(String(content))).toBe('word '.repeat(20))
  expect(cutContent('It says ... [see page 2], and more')).toBeUndefined()
})

it.each([
  ['a long content', 'react.write', { path: 'files/a.md', content: 'x'.repeat(101) }],
  ['a long text in an object', 'mail.send', { mail: { body: 'x y '.repeat(1_000) } }],
  ['a long list', 'mail.send', { to: Array.from({ length: 51 }, (_, index) => `p${index}`) }],
  ['a large object', 'mail.send', { headers: Object.fromEntries(Array.from({ length: 81 }, (_, index) => [`h${index}`, index])) }],
  ['many parameters', 'mail.send', Object.fromEntries(Array.from({ length: 81 }, (_, index) => [`h${index}`, index]))],
])('parameters are cut by %s', (_, toolId, params) => {
  expect(isCut(shown(toolId, params))).toBe(true)
})

it('short parameters are whole', () => {
  const params = { path: 'files/a.md', content: 'short', list: ['a', 1, null], more: { '..': true } }
  expect(isCut(shown('react.write', params))).toBe(false)
})
