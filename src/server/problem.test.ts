import { expect, it } from 'vitest'
import { Failure } from '../core/failure.ts'
import { problemOf } from './problem.ts'

it('tells a client about its own mistake, and nothing about an internal failure', () => {
  expect(problemOf(new Failure('conversation.missing', 'there is no conversation c9'))).toEqual({
    type: 'about:blank',
    status: 404,
    title: 'there is no conversation c9',
    code: 'conversation.missing',
  })
  const inside = problemOf(new Failure('store.failed', 'disk /secret/daybook.sqlite is full'))
  expect(inside).toMatchObject({ status: 503, code: 'store.failed' })
  expect(JSON.stringify([inside, problemOf(new Error('at /secret/file.ts:3'))])).not.toContain('secret')
})
