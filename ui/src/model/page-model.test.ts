import type { TurnView } from 'daybook/client'
import { expect, it } from 'vitest'
import { attachLimits, freeName, refuseFile } from './attach.ts'
import { isSafeAddress, parseSids, sourceOfLink } from './citations.ts'
import { commandOf } from './keys.ts'
import { notesForPeople } from './notes.ts'
import { findInConversation } from './search.ts'
import { tableCsv } from './table-csv.ts'
import { duration, fileSize } from './time.ts'
import { mainParameters, toolTitle } from './tool-titles.ts'
import { turnEnd } from './turn-end.ts'
import { runningTurn, turnItems } from './turn-items.ts'

const turn: TurnView = {
  id: 't1',
  startedAt: '2026-01-01T00:00:00Z',
  endedAt: undefined,
  exitReason: undefined,
  failed: false,
  waits: [],
  parked: false,
  prompt: 'A question',
  attachments: [],
  steps: [],
  plans: [],
  answers: [],
  followups: [],
  questions: [],
  files: [],
  usage: { uncached: 0, cache_read: 0, cache_write: 0, output: 0, reasoning: 0 },
}
const lane = (marker: string, text: string) => ({ marker, artifactName: undefined, format: 'markdown', text, completed: false })
const live = { turnId: 't1', iteration: 0, attempt: 0, status: undefined, toolId: undefined, running: [], error: undefined }

it('an item has the same key while it is live and when it is stored', () => {
  const lanes = [lane('thinking', 'I think.'), lane('answer', 'I say.')]
  const before = turnItems(turn, { ...live, lanes })
  const stored: TurnView = {
    ...turn,
    steps: [{ kind: 'thinking', iteration: 0, text: 'I think.' }],
    answers: [{ text: 'I say.', sourcesUsed: [], truncated: false, stopped: false }],
  }
  expect(turnItems(stored, undefined).map(({ key }) => key)).toEqual(before.map(({ key }) => key))
  expect(before.map((item) => 'live' in item && item.live)).toEqual([false, true]) // the answer has begun, so the thinking has ended
})

it('keys of items are unique, also in imported turns', () => {
  const note = { kind: 'notes', iteration: 0, text: 'x' } as const
  const keys = turnItems({ ...turn, steps: [note, note, note] }, undefined).map(({ key }) => key)
  expect(new Set(keys).size).toBe(3)
})

it('a tool card shows the progress of its running tool', () => {
  const step = { kind: 'tool', callId: 'c', toolId: 'a.b', status: 'running', params: {}, results: [], notices: [] } as const
  const running = [{ callId: 'c', toolId: 'a.b', progress: '2 of 3' }]
  const stepped = { ...turn, steps: [{ ...step, iteration: 0, startedAt: '', files: [] } as never] }
  expect(turnItems(stepped, { ...live, lanes: [], running })).toMatchObject([{ kind: 'tool', running: true, progress: '2 of 3' }])
  expect(turnItems(stepped, undefined)).toMatchObject([{ kind: 'tool', running: false, progress: undefined }])
})

it('a turn that waits does not run', () => {
  expect(runningTurn({ turns: [turn] })).toBe(turn)
  expect(runningTurn({ turns: [{ ...turn, parked: true }] })).toBeUndefined()
})

it('tools have titles for people, and unknown tools are named in words', () => {
  expect(toolTitle('web_tools.web_search', { queries: ['a', 'b'] }, 'running')).toEqual({ title: 'Searching the web', detail: 'a · b' })
  expect(toolTitle('react.read', { paths: ['fi:t.files/a/report.md'] }, 'done')).toEqual({ title: 'Read', detail: 'report.md' })
  expect(toolTitle('shop.order_book', { title: 'Walden' }, 'done')).toEqual({ title: 'Shop order book', detail: 'Walden' })
  expect(toolTitle('constructor', {}, 'done').title).toBe('Constructor')
  expect(toolTitle('', { queries: 3 }, 'done')).toEqual({ title: 'Tool', detail: '3' })
})

it('a call that waits for a person is named by what it would do, and settings of tools are not among its main parameters', () => {
  const params = { path: 'files/out/report.md', channel: 'canvas', content: '# Report', kind: 'file' }
  expect(toolTitle('react.write', params, 'asked')).toEqual({ title: 'Save', detail: 'report.md' })
  expect(toolTitle('react.patch', { path: 'a.md' }, 'asked')).toEqual({ title: 'Change', detail: 'a.md' })
  expect(toolTitle('rendering_tools.write_pdf', { path: 'a.pdf' }, 'asked')).toEqual({ title: 'Make a PDF', detail: 'a.pdf' })
  expect(Object.keys(params).filter((name) => mainParameters('react.write')?.includes(name))).toEqual(['path', 'content'])
  expect(mainParameters('shop.order_book')).toBeUndefined()
})

it('citations are read, and links of running answers stand for them', () => {
  expect(parseSids('1, 3-5,3,x,9-2')).toEqual([1, 3, 4, 5])
  expect(parseSids('1-999999')).toHaveLength(50)
  const sources = new Map([[7, { sid: 7, title: 'A "study"', url: 'https://a.example/x' }]])
  expect(sourceOfLink('https://a.example/x', "A 'study'", sources)?.sid).toBe(7)
  expect(sourceOfLink('https://a.example/y', "A 'study'", sources)).toBeUndefined()
  expect(
    ['https://a.example', 'mailto:a@b.example', 'javascript:1', 'data:,x', '//a.example', 'file:///x'].filter(isSafeAddress),
  ).toHaveLength(2)
})

it('the marks of the plan are removed from notes', () => {
  expect(notesForPeople('✓ [1] Search\n… [2] Write\nI write it now.')).toBe('I write it now.')
  expect(notesForPeople('✓ [1] Search')).toBe('')
})

it('files that can not be sent are refused with name, limit and reason', () => {
  const file = (name: string, size: number) => ({ name, size })
  expect(refuseFile(file('a', 1), [])).toBeUndefined()
  expect(refuseFile(file('a', 0), [])).toContain('“a” is empty')
  expect(refuseFile(file('a', attachLimits.bytes + 1), [])).toContain('36 MB')
  expect(
    refuseFile(
      file('a', 1),
      Array.from({ length: 20 }, () => file('b', 1)),
    ),
  ).toContain('20 files')
  expect(refuseFile(file('a', 1), [file('b', attachLimits.bytes)])).toContain('together')
  expect(freeName('a.txt', ['a.txt', 'a 2.txt'])).toBe('a 3.txt')
})

it('keys, times, sizes and tables are formatted for people', () => {
  const press = { key: 'k', ctrlKey: true, metaKey: false, shiftKey: false, altKey: false }
  expect(commandOf(press, true)).toBe('palette')
  expect(commandOf({ ...press, key: '?', ctrlKey: false, shiftKey: true }, false)).toBe('keys')
  expect(commandOf({ ...press, key: '?', ctrlKey: false, shiftKey: true }, true)).toBeUndefined()
  expect([200, 4_000, 65_000, 660_000].map(duration)).toEqual(['< 1 s', '4 s', '1 min 5 s', '11 min'])
  expect([12, 12_345, 1_234_567].map(fileSize)).toEqual(['12 B', '12 KB', '1.2 MB'])
  expect(
    tableCsv([
      ['a', 'b "c"'],
      ['1,5', 'x\ny'],
    ]),
  ).toBe('a,"b ""c"""\r\n"1,5","x\ny"')
})

it('a search counts every place, whatever its case', () => {
  const answered = { ...turn, answers: [{ text: 'Question and QUESTION', sourcesUsed: [], truncated: false, stopped: false }] }
  expect(findInConversation({ turns: [turn, answered] }, ' question ')).toEqual([
    { turnIndex: 0, inTurn: 0 },
    { turnIndex: 1, inTurn: 0 },
    { turnIndex: 1, inTurn: 1 },
    { turnIndex: 1, inTurn: 2 },
  ])
})

it('a turn without a whole answer says why', () => {
  const end = (exitReason: string) => turnEnd({ exitReason, endedAt: 'x', answers: [] })
  expect(end('complete')).toBeUndefined()
  expect(end('error')?.canRetry).toBe(true)
  expect(end('max_iterations')?.text).toContain('step limit')
  expect(
    turnEnd({ exitReason: 'steer', endedAt: 'x', answers: [{ text: 'a', sourcesUsed: [], truncated: false, stopped: true }] })?.text,
  ).toContain('stopped')
})
