import { expect, it } from 'vitest'
import type { Entry } from '../../ports/store.ts'
import { createSharedEntries } from './shared-entries.ts'

const entry = (seq: number, title: string): Entry => ({ seq, change: { type: 'title.set', ts: 't', title } })
const long = (letter: string) => letter.repeat(20_000)

it('gives readers of the same large entry the same event, and never the content of another entry', () => {
  const share = createSharedEntries()
  const first = share('c1', entry(1, long('a')))
  expect(share('c1', entry(1, long('a')))).toBe(first)
  expect(first).toEqual({ type: 'entry', ...entry(1, long('a')) })
  const others = [share('c2', entry(1, long('a'))), share('c1', entry(2, long('a'))), share('c1', entry(1, long('b')))]
  for (const other of others) expect(other).not.toBe(first)
  expect(others[2]).toEqual({ type: 'entry', ...entry(1, long('b')) }) // the conversation was deleted and created again
})

it('does not share small entries', () => {
  const share = createSharedEntries()
  expect(share('c1', entry(1, 'a'))).not.toBe(share('c1', entry(1, 'a')))
})
