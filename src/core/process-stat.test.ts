import { expect, it } from 'vitest'
import { parseProcessStat } from './process-stat.ts'

const stat = (name: string, state: string, threads: number) =>
  `4711 (${name}) ${state} 1 0 0 0 -1 4194304 76 0 0 0 0 0 0 0 20 0 ${threads} 0 1270319 3133440 394 18446744073709551615 0 0`

it('reads the start time, whatever the program is called', () => {
  for (const name of ['node', 'a b', 'x) R 1 2 (y', ')', '']) {
    expect(parseProcessStat(stat(name, 'S', 11))).toEqual({ startedAt: '1270319', ended: false })
  }
})

it('a process has ended when it is a zombie without running threads; a stopped process has not', () => {
  const ended = (state: string, threads: number) => parseProcessStat(stat('node', state, threads))?.ended
  expect([ended('Z', 1), ended('X', 0), ended('Z', 2), ended('T', 1), ended('D', 1)]).toEqual([true, true, false, false, false])
})

it('returns undefined for other text', () => {
  for (const text of ['', ')', '4711 (node) S 1', stat('node', 'S', 1).replace('1270319', '-')])
    expect(parseProcessStat(text)).toBeUndefined()
})
