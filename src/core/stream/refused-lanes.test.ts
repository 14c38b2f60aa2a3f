import { describe, expect, it } from 'vitest'
import { answerLane, call, complete, lanesOf, show, showCut, showUntil } from '../../../test/support/show-lanes.ts'

const toolCall = '{"tool_id":"react.read","params":{"paths":["a"]}}'
const write = (params: string) => `{"action":"call_tool","tool_call":{"tool_id":"react.write","params":{${params}}}}`

/** The lanes of a response. Checks that they are the same when the response arrives in single characters. */
function lanes(...response: readonly string[]) {
  const whole = lanesOf(show(...response).all)
  expect(lanesOf(showCut(response, 'whole', (text) => text.split('')).all)).toEqual(whole)
  return whole
}

describe('an answer beside a tool call', () => {
  it.each([
    ['the call comes after the action', `{"action":"complete","tool_call":${toolCall}}`],
    ['the call comes first', `{"tool_call":${toolCall},"action":"exit"}`],
    ['the call is no object', '{"action":"complete","tool_call":"react.read"}'],
    ['the call has only parameters', '{"action":"complete","tool_call":{"params":[1]}}'],
    ['the JSON ends in the call', '{"action":"complete","tool_call":{"tool_id":"react.read"'],
    ['there are two objects', `{"action":"complete"} {"action":"call_tool","tool_call":${toolCall}}`],
    ['the action is given twice', '{"action":"complete","action":"call_tool"}'],
  ])('is not shown, neither from its channel nor from the field: %s', (_, action) => {
    expect(lanes('action', action, 'answer', 'no')).toEqual([])
    expect(lanes('answer', 'no', 'action', action)).toEqual([])
    expect(lanes('action', action.replace('"action"', '"final_answer":"no","action"'))).toEqual([])
  })

  it('is shown when the call is empty', () => {
    for (const empty of ['null', '{}', '{"tool_id":"","params":{}}', '{"tool_id":" ","params":null}', '{"other":1}'])
      expect(lanes('action', `{"action":"complete","tool_call":${empty}}`, 'answer', 'yes')).toEqual([answerLane('yes')])
  })

  it('ends with the second action: what follows is not shown', () => {
    const { all, answer } = show('action', complete, 'answer', 'one', 'action', call('react.read', {}), 'answer', 'two')
    expect(lanesOf(all)).toEqual([answerLane('one')])
    expect(answer).toEqual({ source: 'channel', text: 'one' })
  })
})

describe('a key that decides where content goes', () => {
  const shown = (end: string) => [{ lane: 'canvas a.md', format: 'markdown', text: 'secret', end }]

  it.each([
    ['"path":"a.md","channel":"canvas","content":"secret","channel":"internal"'],
    ['"path":"a.md","channel":"canvas","content":"secret","path":"b.md"'],
    ['"path":"a.md","channel":"canvas","content":"secret","kind":"file","kind":"display"'],
    ['"path":"a.md","channel":"canvas","content":"secret"},"params":{"path":"a.md","content":"more","channel":"internal"'],
    ['"path":"a.md","channel":"canvas","content":"secret"},"tool_id":"react.read","params":{"path":"a.md"'],
    ['"path":"a.md","channel":"canvas","content":"secret"}},"tool_call":null,"x":{"y":{'],
    ['"path":"a.md","channel":"canvas","content":"secret"}},"action":"complete","x":{"y":{'],
  ])('ends the lane as aborted when it comes again with another value: %s', (params) => {
    expect(lanes('action', write(params))).toEqual(shown('aborted'))
  })

  it.each([
    ['"path":"a.md","channel":"canvas","channel":"internal","content":"secret"'],
    ['"path":"a.md","channel":"internal","channel":"canvas","content":"secret"'],
    ['"path":"a.md","content":"secret","channel":"canvas","channel":"internal"'],
    ['"path":"a.md","channel":"internal","content":"secret","channel":"canvas"'],
    ['"content":"secret","path":"a.md","channel":"canvas"'],
    ['"path":"a.md","content":"secret"},"params":{"path":"a.md","content":"secret","channel":"internal"'],
    ['"path":"a.md","content":"secret"},"tool_id":"react.write","tool_id":"react.read","x":{"z":1'],
  ])('shows nothing when the content begins before it is certain: %s', (params) => {
    expect(lanes('action', write(params))).toEqual([])
  })

  it('may be repeated with the same value', () => {
    expect(lanes('action', write('"path":"a.md","channel":"canvas","content":"secret","channel":"canvas","path":"a.md"'))).toEqual(
      shown('whole'),
    )
  })

  it('shows no program and no plan of a refused call', () => {
    const exec = '{"action":"call_tool","tool_call":{"tool_id":"exec_tools.execute_code_python","params":{},"tool_id":"react.read"}}'
    const { all } = show('action', exec, 'code', 'print("secret")')
    expect(all.filter(({ text }) => text.includes('secret'))).toEqual([])
    expect(all.at(-1)).toMatchObject({ text: '{"status":"error","timings":{},"error":"refused"}', completed: true })
    const plan = '{"action":"call_tool","tool_call":{"tool_id":"react.plan","params":{"mode":"new","steps":["a"],"path":1,"path":2}}}'
    expect(show('action', plan).all).toEqual([])
  })
})

describe('content of a call that the response itself breaks', () => {
  const body = call('react.write', { path: 'a.md', channel: 'canvas', content: 'x' })
  const ends = (...response: readonly string[]) => lanesOf(show(...response).all).find(({ lane }) => lane === 'canvas a.md')?.end

  it('ends as aborted', () => {
    expect(ends('action', body)).toBe('whole')
    expect(ends('action', body, 'answer', 'A')).toBe('aborted')
    expect(ends('action', body, 'action', body)).toBe('aborted')
    expect(ends('action', body, 'code', 'print(1)')).toBe('aborted')
    expect(ends('action', `${body} ${body}`)).toBe('aborted')
    expect(ends('action', `${body.slice(0, -1)}?`)).toBe('aborted')
    expect(ends('action', body.replace('"final_answer":null', '"final_answer":"A"'))).toBe('aborted')
    expect(lanesOf(showUntil('interrupted', 'action', body).all)).toMatchObject([{ end: 'aborted' }])
  })
})
