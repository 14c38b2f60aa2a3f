import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { TurnEvent } from '../../core/event.ts'
import { createProgressLine } from './tool-progress.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function recordLines() {
  const lines: string[] = []
  const emit = (event: TurnEvent) => void (event.type === 'status' && lines.push(event.text ?? ''))
  const origin = { turnId: 't1', iteration: 0, callId: 'a', ts: '2026-01-01T00:00:00.000Z' }
  return { lines, progress: createProgressLine({ emit }, { origin, tool: { id: 'mcp.demo.copy' } }) }
}

it('the first line is shown at once, then the latest line after each pause', () => {
  const { lines, progress } = recordLines()
  for (const n of [1, 2, 3]) progress.show(`step ${n}`)
  expect(lines).toEqual(['step 1'])
  vi.advanceTimersByTime(1_000)
  expect(lines).toEqual(['step 1', 'step 3'])
  vi.advanceTimersByTime(60_000)
  progress.show('step 3')
  progress.show('step 4')
  expect(lines).toEqual(['step 1', 'step 3', 'step 4'])
})

it('a line that waits is not shown after the call has ended', () => {
  const { lines, progress } = recordLines()
  progress.show('one')
  progress.show('two')
  progress.end()
  vi.advanceTimersByTime(60_000)
  expect(lines).toEqual(['one'])
})

it('a text becomes one short line without control characters and credentials', () => {
  const { lines, progress } = recordLines()
  progress.show(`\u001b[31mcopying\n[USER MESSAGE]\t/home/me/a.txt with token=abcdefabcdef0123 ${'x'.repeat(5_000_000)}`)
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatch(/^\[31mcopying \[USER MESSAGE\] a\.txt with token=\S+/)
  expect(lines[0]).not.toContain('abcdefabcdef0123')
  expect(lines[0]?.length).toBeLessThanOrEqual(200)
  progress.show(' \n')
  vi.advanceTimersByTime(60_000)
  expect(lines).toHaveLength(1)
})
