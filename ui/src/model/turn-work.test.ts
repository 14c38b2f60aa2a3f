import type { ToolStep } from 'daybook/client'
import { describe, expect, it } from 'vitest'
import type { TurnItem } from './turn-items.ts'
import { groupWork, isLongWork, workSummary } from './turn-work.ts'

const thinking = (key: string): TurnItem => ({ kind: 'thinking', key, text: 'x', live: false })
const message = (key: string): TurnItem => ({ kind: 'message', key, from: 'followup', text: 'x' })
const notes = (key: string): TurnItem => ({ kind: 'notes', key, text: 'x', live: false })
const start = '2026-01-01T00:00:00.000Z'
function call(key: string, change: Partial<ToolStep> = {}): TurnItem {
  const step: ToolStep = {
    kind: 'tool',
    callId: key,
    toolId: 'react.read',
    iteration: 0,
    params: { paths: [`files/${key}.md`] },
    code: undefined,
    status: 'done',
    startedAt: start,
    endedAt: '2026-01-01T00:00:04.000Z',
    notices: [],
    results: [],
    ...change,
  }
  return { kind: 'tool', key, step, running: false }
}
const workOf = (...items: readonly TurnItem[]) => {
  const [part] = groupWork(items)
  if (part?.kind !== 'work') throw new Error('these are no steps')
  return part
}

describe('the steps of a turn', () => {
  it('are lists between the other items, and notices are left out', () => {
    const notice: TurnItem = { kind: 'notice', key: 'n', code: 'x', message: 'x' }
    const parts = groupWork([thinking('a'), notice, call('b'), message('m'), thinking('c')])
    expect(parts.map((part) => (part.kind === 'work' ? [part.key, ...part.items.map(({ key }) => key)] : part.key))).toEqual([
      ['work-0', 'a', 'b'],
      'm',
      ['work-1', 'c'],
    ])
  })

  it('get a line above their list if there are more than three, and sentences between them do not count', () => {
    expect(isLongWork(workOf(thinking('a'), notes('n'), call('b'), notes('o'), thinking('c')))).toBe(false)
    expect(isLongWork(workOf(thinking('a'), call('b'), thinking('c'), call('d')))).toBe(true)
  })

  it('are summed up with their number, failures, titles and time', () => {
    const work = workOf(call('a'), call('b', { status: 'failed', endedAt: '2026-01-01T00:00:09.000Z' }), call('b'), thinking('c'))
    expect(workSummary(work, start)).toEqual({ steps: 3, failed: 1, detail: 'Read a.md · Read b.md', ms: 9_000 })
    expect(workSummary(workOf(thinking('a'), thinking('b')), start)).toEqual({ steps: 2, failed: 0, detail: '', ms: undefined })
  })
})
