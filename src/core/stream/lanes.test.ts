import { describe, expect, it } from 'vitest'
import { answerLane, type Cut, call, complete, lanesOf, show, showCut, showUntil } from '../../../test/support/show-lanes.ts'
import { createCitationReplacer } from '../citations/replace.ts'
import { parseModelJson } from './json/parse.ts'

describe('the answer', () => {
  it('streams from its channel once the action is known to be complete', () => {
    const { live, answer } = show('action', complete, 'answer', 'Hello § you')
    expect(live[4]).toEqual([
      {
        marker: 'answer',
        artifact_name: 'react.final_answer.2',
        format: 'markdown',
        index: 0,
        text: 'Hello <markdown> you',
        completed: false,
      },
    ])
    expect(live[5]).toMatchObject([{ index: 1, text: '', completed: true }])
    expect(answer).toEqual({ source: 'channel', text: 'Hello § you' })
  })

  it('loop 17.49: comes from the field of a fenced action when there is no answer channel', () => {
    const body = '```json {"action":"complete","final_answer":"A §"} ```'
    const { all, answer } = show('action', body)
    expect(lanesOf(all)).toEqual([answerLane('A <markdown>')])
    expect(answer).toEqual({ source: 'action', text: 'A §' })
    expect(parseModelJson(body)).toMatchObject({ ok: true, value: { final_answer: 'A §' } })
  })

  it('loop 17.50: keeps unescaped quotes, like the parser', () => {
    const body = '{"action":"complete","final_answer":"He response "hi", then left."}'
    expect(lanesOf(show('action', body).all)).toEqual([answerLane('He response "hi", then left.')])
    expect(parseModelJson(body)).toMatchObject({ ok: true, value: { final_answer: 'He response "hi", then left.' } })
  })

  it('loop 17.53: is not shown with a tool call, neither from the channel nor from the field', () => {
    const body = '{"final_answer":"early","action":"call_tool","tool_call":{"tool_id":"react.read","params":{}},"final_answer":"late"}'
    const { all, answer } = show('answer', 'before', 'action', body, 'answer', 'after')
    expect(all).toEqual([])
    expect(answer).toBe(undefined)
  })

  it('loop 17.65: is shown and kept as written although the JSON after it is invalid', () => {
    const { all, answer } = show('action', '{"action":"complete","final_answer":"A §","suggested_followups":[?]}')
    expect(lanesOf(all)).toEqual([answerLane('A <markdown>')])
    expect(answer).toEqual({ source: 'action', text: 'A §' })
  })

  it('comes from the channel if both are present, and the field is not shown', () => {
    const body = '{"action":"complete","final_answer":"from the field"}'
    expect(lanesOf(show('action', body, 'answer', 'from the channel').all)).toEqual([answerLane('from the channel')])
    expect(lanesOf(show('action', body, 'answer', ' \n ').all)).toEqual([answerLane('from the field')])
  })

  it('is held until the action is known, and shown at the end if there is no action', () => {
    const late = show('answer', 'first', 'action', complete)
    expect(late.live.slice(0, 3).flat()).toEqual([])
    expect(lanesOf(late.all)).toEqual([answerLane('first')])
    const none = show('thinking', 't', 'answer', 'alone')
    expect(none.live.flat().filter(({ marker }) => marker === 'answer')).toEqual([])
    expect(lanesOf(none.last)).toEqual([answerLane('alone')])
    expect(lanesOf(show('action', ' \n', 'answer', 'alone').all)).toEqual([answerLane('alone')])
  })

  it('is not shown when the action is unreadable or another one', () => {
    for (const body of ['{"action":"fly"}', '{"actio', '{"action":"comp', '[{"action":"complete"}]', '{"x":{"action":"exit"}}'])
      expect(show('action', body, 'answer', 'no').all).toEqual([])
  })

  it('loop 17.58: is not shown after two actions, and the second one shows nothing', () => {
    const second = call('react.write', { path: 'x.md', channel: 'canvas', content: 'never' })
    expect(show('action', complete, 'action', second, 'answer', 'no').all).toEqual([])
  })

  it('continues in a second instance of its channel without losing text', () => {
    const replacer = () => createCitationReplacer({ format: 'markdown', sources: () => new Map(), stripUsage: true })
    const shown = (...response: readonly string[]) => showCut(response, 'whole', (text) => text.split(''), replacer)
    const twice = shown('action', complete, 'answer', '```\none [', 'answer', 'two[[USAGE:1]].')
    expect(lanesOf(twice.all)).toEqual([answerLane('```\none [two.')])
    expect(twice.all.filter(({ completed }) => completed)).toHaveLength(2)
    expect(twice.answer?.text).toBe('```\none [two[[USAGE:1]].')
    const blankFirst = shown('action', complete, 'answer', '', 'answer', 'two')
    expect(blankFirst.all.map(({ text, completed }) => (completed ? 'end' : text))).toEqual(['t', 'w', 'o', 'end'])
  })

  it('is blank if it only cites unknown sources, and then the field is shown instead', () => {
    const replacer = () => createCitationReplacer({ format: 'markdown', sources: () => new Map(), stripUsage: true, keepUnresolved: false })
    const shown = (...response: readonly string[]) => showCut(response, 'whole', (text) => text.split(''), replacer)
    expect(shown('action', complete, 'answer', ' [[S:9]]\n')).toMatchObject({ all: [], answer: undefined })
    expect(shown('action', '{"action":"complete","final_answer":"[[S:9]]"}')).toMatchObject({ all: [], answer: undefined })
    const both = shown('action', '{"action":"complete","final_answer":"from the field"}', 'answer', '[[S:9]]')
    expect(lanesOf(both.all)).toEqual([answerLane('from the field')])
    expect(both.answer).toEqual({ source: 'action', text: 'from the field' })
    expect(lanesOf(shown('action', complete, 'answer', '[[S:9]]', 'answer', '\n[[S:9]] two').all)).toEqual([answerLane('\n two')])
  })

  it('ends as aborted when the output limit cut it; held text of an interrupted response is not shown', () => {
    expect(lanesOf(showUntil('aborted', 'action', complete, 'answer', 'half an ans').all)).toEqual([answerLane('half an ans', 'aborted')])
    expect(lanesOf(showUntil('aborted', 'action', '{"action":"exit","final_answer":"half').all)).toEqual([answerLane('half', 'aborted')])
    expect(lanesOf(showUntil('interrupted', 'action', complete, 'answer', 'half an ans').all)).toEqual([
      answerLane('half an ans', 'aborted'),
    ])
    expect(showUntil('interrupted', 'answer', 'half an ans').all).toEqual([])
  })
})

describe('thinking and notes', () => {
  it('shows thinking at once, with an index that continues across instances', () => {
    const { all } = show('thinking', 'one §', 'thinking', 'two')
    expect(all.map(({ marker, index, text, completed }) => [marker, index, text, completed])).toEqual([
      ['thinking', 0, 'one §', false],
      ['thinking', 1, '', true],
      ['thinking', 2, 'two', false],
      ['thinking', 3, '', true],
    ])
  })

  it('shows the notes of a tool call, even if they precede the action', () => {
    const notes = { lane: 'timeline_text timeline_text.react.decision.2', format: 'markdown', text: 'Looking <markdown>', end: 'whole' }
    expect(lanesOf(show('action', call('web_tools.web_search', {}, 'Looking §')).all)).toEqual([notes])
    expect(lanesOf(show('action', '{"notes":"Looking §","action":" Call_Tool "}').all)).toEqual([notes])
    expect(show('action', call('web_tools.web_search', {}, ' \n')).all).toEqual([])
  })

  it('loop 17.56: shows the answer of a completion, but not its notes', () => {
    expect(lanesOf(show('action', '{"notes":"x","action":"complete","final_answer":"A"}').all)).toEqual([answerLane('A')])
  })

  it('has no lane for followups and usage', () => {
    expect(show('followup', '{"followups":["x"]}', 'usage', '{"tokens":1}').all).toEqual([])
  })
})

describe('the content of a file', () => {
  const write = (params: unknown) => lanesOf(show('action', call('react.write', params)).all)

  it('is shown under its path, in its channel and in the format of its extension', () => {
    expect(write({ path: 'files/a.md', channel: 'canvas', content: 'x §', kind: 'file' })).toEqual([
      { lane: 'canvas files/a.md', format: 'markdown', text: 'x <markdown>', end: 'whole' },
    ])
    expect(write({ path: 'files/a.html', channel: 'timeline_text', content: 'x §' })).toEqual([
      { lane: 'timeline_text files/a.html', format: 'html', text: 'x <html>', end: 'whole' },
    ])
    expect(write({ path: 'a.json', channel: 'canvas', content: '{"§":1}' })).toMatchObject([{ format: 'json', text: '{"<verbatim>":1}' }])
    expect(write({ path: 'a.py', channel: 'canvas', content: 'x = "§"' })).toMatchObject([{ format: 'text', text: 'x = "<verbatim>"' }])
    expect(write({ path: 'a.json', channel: 'canvas', content: { b: [1] } })).toMatchObject([{ text: '{\n  "b": [\n    1\n  ]\n}' }])
  })

  it('loop 17.52: is not shown when it is internal or a reference', () => {
    expect(write({ path: 'a.md', channel: 'internal', content: 'secret' })).toEqual([])
    expect(write({ path: 'a.md', content: 'secret', channel: 'internal' })).toEqual([])
    expect(write({ path: 'a.md', channel: 'canvas', content: 'ref:fi:turn_1.files/x.md' })).toEqual([])
    expect(write({ path: 'a.md', channel: 'elsewhere', content: 'x' })).toEqual([])
    expect(show('action', call('react.patch', { path: 'a.md', channel: 'internal', patch: 'x' })).all).toEqual([])
    expect(show('action', call('react.patch', { path: 'a.md', patch: 'ref:x' })).all).toEqual([])
    expect(show('action', call('rendering_tools.write_pdf', { path: 'a.pdf', content: 'ref:x' })).all).toEqual([])
  })

  it('is shown if it only starts like a reference', () => {
    for (const content of ['r', 're', 'ref', 'refer to', 'Ref:x', ' ref:x'])
      expect(write({ path: 'a.md', channel: 'canvas', content })).toMatchObject([{ text: content }])
  })

  it('is shown on the canvas by default, and not at all without a path', () => {
    expect(write({ path: 'a.md', content: 'x' })).toMatchObject([{ lane: 'canvas a.md', text: 'x' }])
    expect(write({ path: 'a.md', channel: null, content: 'x' })).toMatchObject([{ lane: 'canvas a.md', text: 'x' }])
    expect(write({ content: 'x' })).toEqual([])
  })

  it('waits for the action and the tool, if they come later', () => {
    const late = '{"tool_call":{"params":{"path":"a.md","channel":"canvas","content":"x"},"tool_id":"react.write"},"action":"call_tool"}'
    expect(lanesOf(show('action', late).all)).toMatchObject([{ lane: 'canvas a.md', text: 'x' }])
    expect(show('action', late.replace('call_tool"}', 'complete"}')).all).toEqual([])
    expect(show('action', late.replace('react.write', 'react.read')).all).toEqual([])
  })

  it('is shown as markdown for a patch, and in its own format for rendering tools', () => {
    expect(lanesOf(show('action', call('react.patch', { path: 'a.py', channel: 'canvas', patch: '@@ -1 +1 @@' })).all)).toEqual([
      { lane: 'canvas a.py', format: 'markdown', text: '@@ -1 +1 @@', end: 'whole' },
    ])
    const format = (tool: string, params: object) => lanesOf(show('action', call(`rendering_tools.${tool}`, params)).all)[0]?.format
    expect(format('write_pdf', { path: 'a.pdf', format: 'mermaid', content: 'x' })).toBe('mermaid')
    expect(format('write_pdf', { path: 'a.pdf', content: '# x', format: 'markdown' })).toBe('markdown')
    expect(format('write_pdf', { path: 'a.pdf', content: '\n <h1>x</h1>', format: 'html' })).toBe('html')
    expect(format('write_html', { path: 'a.html', content: 'x' })).toBe('html')
    expect(format('write_png', { path: 'a.png', content: 'graph TD' })).toBe('mermaid')
    expect(format('write_pptx', { path: 'a.pptx', content: 'x' })).toBe('html')
  })

  it('streams, and ends as aborted where the output was cut', () => {
    const body = call('react.write', { path: 'a.md', channel: 'canvas', content: 'one two three' })
    const cut = body.slice(0, body.indexOf(' three'))
    const { live, last } = showCut(['action', cut], 'aborted', (text) => [text.slice(0, -4), text.slice(-4)])
    expect(live[1]).toMatchObject([{ marker: 'canvas', index: 0, text: 'one' }])
    expect(live[2]).toMatchObject([{ marker: 'canvas', index: 1, text: ' two' }])
    expect(last).toMatchObject([{ marker: 'canvas', index: 2, text: '', completed: true, aborted: true }])
    expect(showUntil('aborted', 'action', body.slice(0, body.indexOf('one'))).all).toEqual([])
    expect(
      showUntil('interrupted', 'action', call('react.write', { path: 'a.md', channel: 'canvas', content: 'ref' }).slice(0, -40)).all,
    ).toEqual([])
  })
})

describe('a plan', () => {
  const card = (params: unknown, notes = '') => {
    const lanes = lanesOf(show('action', call('react.plan', params, notes)).all)
    return lanes.find(({ lane }) => lane === 'timeline_text timeline_text.react.plan.2')?.text
  }

  it('is shown as a card when the action is complete', () => {
    expect(card({ mode: 'new', steps: ['Find', 'Write'] }, '\nFirst I look.\nThen')).toBe(
      '• New Plan\n└ First I look.\n  □ Find\n  □ Write',
    )
    expect(card({ mode: 'replace', plan_id: 'p', steps: ['Find', { label: 'Write' }] })).toBe(
      '• Replaced Plan\n└ Find\n  □ Find\n  □ Write',
    )
    expect(card({ mode: 'activate', plan_id: 'plan:t:1' })).toBe('• Activated Plan\n└ Activate plan `plan:t:1`.')
    expect(card({ mode: 'close', plan_id: 'plan:t:1' })).toBe('• Closed Plan\n└ Close plan `plan:t:1`.')
  })

  it('has no card when the call is invalid or incomplete', () => {
    expect(card({ mode: 'eat' })).toBe(undefined)
    expect(card('x')).toBe(undefined)
    expect(show('action', call('react.plan', { mode: 'new', steps: ['x'] }).slice(0, -30)).all).toEqual([])
  })
})

describe('a patch', () => {
  it('is internal when its file is internal', () => {
    const marks = (toolId: string, path: string) => {
      const content = toolId === 'react.patch' ? { patch: 'x' } : { content: 'x' }
      return show('action', call(toolId, { path, channel: 'canvas', ...content })).all.map(({ internal = false }) => internal)
    }
    expect(marks('react.patch', 'files/internal.md')).toEqual([true, true])
    expect(marks('react.patch', 'files/open.md')).toEqual([false, false])
    expect(marks('react.write', 'files/internal.md')).toEqual([false, false]) // what is written to the canvas is for users
  })
})

describe('a program', () => {
  const contract = [
    { filename: 'files/out.csv', description: 'rows' },
    { filepath: 'outputs/out.csv', description: 'again' },
    { filename: 'scratch/out.bin', description: 'no', visibility: 'internal' },
    { filename: 'outputs/sums/out.csv', description: 'sums' },
  ]
  const exec = call('exec_tools.execute_code_python', { contract, prog_name: 'sums' }, 'Add up §')

  it('is shown in this order: status, name, objective, code, contract', () => {
    const { all } = show('action', exec, 'code', '\nprint(1)\n')
    const deltas = all
      .filter(({ marker }) => marker === 'subsystem')
      .map(({ extra, index, text, completed }) => [extra?.sub_type, index, text, completed])
    const files = [
      { artifact_name: 'out', description: 'rows', mime: 'text/csv', filename: 'files/out.csv' },
      { artifact_name: 'out_2', description: 'again', mime: 'text/csv', filename: 'outputs/out.csv' },
      { artifact_name: 'out_4', description: 'sums', mime: 'text/csv', filename: 'outputs/sums/out.csv' },
    ]
    expect(deltas).toEqual([
      ['code_exec.status', 0, '{"status":"gen","timings":{}}', false],
      ['code_exec.program.name', 0, 'sums', false],
      ['code_exec.program.name', 1, '', true],
      ['code_exec.objective', 0, 'Add up <markdown>', false],
      ['code_exec.objective', 1, '', true],
      ['code_exec.code', 0, '\nprint(1)\n', false],
      ['code_exec.code', 1, '', true],
      ['code_exec.contract', 0, JSON.stringify({ execution_id: 'exec_1', contract: files }), false],
      ['code_exec.contract', 1, '', true],
    ])
    expect(all.find(({ extra }) => extra?.sub_type === 'code_exec.code')).toMatchObject({
      artifact_name: 'react.exec.exec_1.code_exec_code',
      format: 'text',
      extra: { execution_id: 'exec_1', sub_type: 'code_exec.code', language: 'python' },
    })
  })

  it('is internal, with its name, unless its contract is valid and has no internal file', () => {
    const markedLanes = (given: unknown, order: 'first' | 'last' = 'last') => {
      const action = ['action', call('exec_tools.execute_code_python', { contract: given, prog_name: 'sums' })]
      const { all } = order === 'last' ? show(...action, 'code', 'x') : show('code', 'x', ...action)
      return [...new Set(all.filter(({ internal }) => internal).map(({ extra }) => extra?.sub_type))].sort()
    }
    const internal = ['code_exec.code', 'code_exec.program.name']
    const open = contract.filter(({ visibility }) => visibility === undefined)
    for (const order of ['first', 'last'] as const) {
      expect(markedLanes(contract, order)).toEqual(internal)
      expect(markedLanes(JSON.stringify(contract), order)).toEqual(internal)
      expect(markedLanes([{ filename: 'files/b.csv' }], order)).toEqual(internal)
      expect(markedLanes(open, order)).toEqual([])
    }
  })

  it('lists the files of a contract that is a list or its text, and none of an invalid contract', () => {
    const listed = (given: unknown) => {
      const { all } = show('action', call('exec_tools.execute_code_python', { contract: given }), 'code', 'x')
      return JSON.parse(all.find(({ extra }) => extra?.sub_type === 'code_exec.contract')?.text ?? '').contract.length
    }
    expect([contract, JSON.stringify(contract), [...contract, { filename: 'files/b.csv' }], 'files/b.csv', {}].map(listed)).toEqual([
      3, 3, 0, 0, 0,
    ])
  })

  it('shows an error if the code is missing', () => {
    for (const response of [
      ['action', exec],
      ['action', exec, 'code', ' \n'],
    ])
      expect(show(...response).last).toMatchObject([
        { text: '{"status":"error","timings":{},"error":"missing_code"}', completed: true, extra: { sub_type: 'code_exec.status' } },
      ])
  })

  it('does not show code without an exec call, and holds code that precedes the action', () => {
    expect(show('action', call('react.read', {}), 'code', 'x').all).toEqual([])
    expect(show('action', complete, 'code', 'x').all).toEqual([])
    expect(show('code', 'x').all).toEqual([])
    const early = show('code', 'x = 1', 'action', exec)
    expect(early.live.slice(0, 3).flat()).toEqual([])
    expect(lanesOf(early.all).find(({ lane }) => lane.endsWith('code_exec_code'))).toMatchObject({ text: 'x = 1', end: 'whole' })
  })

  it('ends as aborted when the output limit or the user cut it', () => {
    for (const ending of ['aborted', 'interrupted'] as const)
      expect(
        lanesOf(showUntil(ending, 'action', exec, 'code', 'x =').all).find(({ lane }) => lane.endsWith('code_exec_code')),
      ).toMatchObject({ text: 'x =', end: 'aborted' })
  })
})

describe('all lanes', () => {
  const responses: readonly (readonly string[])[] = [
    [
      'thinking',
      'See.',
      'action',
      `\`\`\`json\n${call('react.write', { path: 'a.md', channel: 'canvas', content: 'ref or "not" 😀\n' }, '§')}\n\`\`\``,
    ],
    ['action', '{"action":"complete","final_answer":"He response "hi", then\nleft \\ud83d\\ude00."}'],
    ['answer', 'early bird', 'action', '{"notes":"x","action":"exit","final_answer":"unseen",}'],
    ['action', call('rendering_tools.write_pdf', { path: 'a.pdf', content: ' \n <p>x', format: 'html' })],
    ['action', call('exec_tools.execute_code_python', { contract: [], prog_name: 'p' }, 'n'), 'code', '\n\nx = "</p>"\n'],
    ['action', call('react.plan', { mode: 'new', steps: ['a', 'b'] }, 'note')],
    ['action', '{"action":"call_tool","tool_call":{"params":{"path":"a.md","channel":"canvas","content":"re'],
  ]

  it('show the same wherever the text was cut: every two-way cut, single characters, 500 random segmentations', () => {
    for (const response of responses) {
      const longest = Math.max(...response.map((text) => text.length))
      for (const cut of cuts(longest)) same(showCut(response, 'whole', cut), show(...response))
      for (const stop of ['aborted', 'interrupted'] as const)
        same(
          showCut(response, stop, (text) => text.split('')),
          showUntil(stop, ...response),
        )
    }
  })
})

function same(again: ReturnType<typeof show>, whole: ReturnType<typeof show>) {
  const [now, before] = [again, whole].map(({ all, answer }) => ({ lanes: lanesOf(all), answer }))
  if (JSON.stringify(now) !== JSON.stringify(before)) expect(now).toEqual(before)
}

function* cuts(longest: number): Generator<Cut> {
  for (let at = 1; at < longest; at++) yield (text) => [text.slice(0, at), text.slice(at)]
  yield (text) => text.split('')
  for (let run = 1; run <= 500; run++) yield (text) => randomPieces(text, run)
}

function randomPieces(text: string, run: number): readonly string[] {
  let seed = run
  const pieces: string[] = []
  for (let at = 0; at < text.length; at += pieces.at(-1)?.length ?? 1) {
    seed = (seed * 1103515245 + 12345) % 2147483648
    pieces.push(text.slice(at, at + 1 + ((seed >> 8) % 11)))
  }
  return pieces
}

describe('a list of calls', () => {
  const write = (path: string, content: string, more: object = {}) => ({
    tool_id: 'react.write',
    params: { path, channel: 'canvas', content, kind: 'file', ...more },
  })
  const list = (tool_calls: readonly object[], more: object = {}) =>
    JSON.stringify({ action: 'call_tool', notes: 'Both.', tool_calls, ...more })
  const notes = { lane: 'timeline_text timeline_text.react.decision.2', format: 'markdown', text: 'Both.', end: 'whole' }
  const canvas = (path: string, text: string, end = 'whole') => ({ lane: `canvas ${path}`, format: 'markdown', text, end })
  const lanes = (...response: readonly string[]) => {
    const whole = lanesOf(show(...response).all)
    expect(lanesOf(showCut(response, 'whole', (text) => text.split('')).all)).toEqual(whole)
    return whole
  }

  it('shows the content of each call while the model writes it', () => {
    const calls = [write('a.md', 'First.'), { tool_id: 'weather.today', params: { content: 'no' } }, write('b.md', 'Second.')]
    expect(lanes('action', list(calls))).toEqual([notes, canvas('a.md', 'First.'), canvas('b.md', 'Second.')])
  })

  it('does not show internal content of one call', () => {
    const calls = [write('a.md', 'First.', { channel: 'internal' }), write('b.md', 'Second.')]
    expect(lanes('action', list(calls))).toEqual([notes, canvas('b.md', 'Second.')])
  })

  it.each([
    ['there is a call in `tool_call`, too', list([write('a.md', 'First.')], { tool_call: write('b.md', 'Second.') })],
    ['a call has no tool', list([write('a.md', 'First.'), { params: { x: 1 } }])],
    ['a call is no object', list([write('a.md', 'First.'), 'weather.today' as unknown as object])],
    ['there are too many calls', list(Array.from({ length: 17 }, (_, index) => write(`${index}.md`, 'First.')))],
    ['a key has two values', list([write('a.md', 'First.')]).replace('"kind":"file"', '"kind":"file","kind":"display"')],
  ])('ends all content as aborted when the action is rejected: %s', (_, body) => {
    const shown = lanes('action', body).filter(({ lane }) => lane.startsWith('canvas'))
    expect(shown.length).toBeGreaterThan(0)
    expect(shown.filter(({ end }) => end !== 'aborted')).toEqual([])
  })

  it('with a program ends its content as aborted', () => {
    expect(lanes('action', list([write('a.md', 'First.'), write('b.md', 'Second.')]), 'code', 'print(1)')).toEqual([
      notes,
      canvas('a.md', 'First.', 'aborted'),
      canvas('b.md', 'Second.', 'aborted'),
    ])
  })

  it('with one call of an exec tool shows its program', () => {
    const exec = { tool_id: 'exec_tools.execute_code_python', params: { contract: [{ filename: 'files/a.md', description: 'a' }] } }
    const body = JSON.stringify({ action: 'call_tool', tool_calls: [exec] })
    expect(show('action', body, 'code', 'print(1)').all.some(({ text }) => text.includes('print(1)'))).toBe(true)
  })

  it.each(['null', '[]', '[{}]', '[null]'])('without a call is ignored: %s', (empty) => {
    expect(lanes('action', `{"action":"complete","tool_calls":${empty}}`, 'answer', 'yes')).toEqual([answerLane('yes')])
  })
})
