import { expect, it } from 'vitest'
import { Failure } from '../core/failure.ts'
import { errorHeaders, problemOf } from './problem.ts'

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

it('does not tell a client which process has taken over a conversation, nor the key of the conversation', () => {
  const lost = new Failure('conversation.superseded', 'the lease on t/p/u/c1 was lost to 0f3a9c')
  expect(problemOf(lost)).toMatchObject({ status: 409, code: 'conversation.superseded' })
  expect(problemOf(lost).title).not.toMatch(/t\/p|0f3a9c|lease/)
})

it('tells a client when to try a busy conversation again, and not which process uses it', () => {
  const details = { conversationId: 'c1', owner: { id: 'a', host: 'secret-host', pid: 4711 }, expiresAt: '2026-01-01T00:00:30.000Z' }
  const busy = new Failure('conversation.busy', 'conversation c1 is in use by process 4711 on secret-host', { details })
  expect(problemOf(busy)).toEqual({
    type: 'about:blank',
    status: 409,
    title: 'Another process is working on this conversation until 2026-01-01T00:00:30.000Z, or longer: try again then.',
    code: 'conversation.busy',
  })
  const secondsAfter = (now: string) => errorHeaders(busy, Date.parse(now))['retry-after']
  expect(secondsAfter('2026-01-01T00:00:05.500Z')).toBe('25')
  expect(secondsAfter('2026-01-01T00:01:00.000Z')).toBe('1')
  expect(errorHeaders(new Failure('conversation.missing', 'no'), 0)).toEqual({})
})
