import { describe, expect, it } from 'vitest'
import { createCitationReplacer } from '../citations/replace.ts'
import type { ChannelEvent } from './channel.ts'
import { parseModelJson } from './json-parse.ts'
import type { CreateReplacer, LaneDelta, LaneEnd } from './lane.ts'
import { createLanes } from './lanes.ts'
import { execStatusDelta } from './lanes-exec.ts'

/** Marks what went through it, and with which format. */
const marking = (format: string) => ({
  push: (text: string) => text.replaceAll('§', `<${format}>`),
  flush: () => '',
  used: [],
  unresolved: [],
  usage: [],
})

const mimeOf = (filename: string) => (filename.endsWith('.csv') ? 'text/csv' : 'application/octet-stream')

type Stop = LaneEnd | 'interrupted'
type Cut = (text: string) => readonly string[]

/** `said` is channel, text, channel, text, …; the last channel is left open when the response is not whole. */
function watchCut(said: readonly string[], stop: Stop, cut: Cut, replacer: CreateReplacer = marking) {
  const lanes = createLanes({ iteration: 2, executionId: 'exec_1', replacer, mimeOf })
  const instances = new Map<string, number>()
  const events: ChannelEvent[] = []
  for (let i = 0; i < said.length; i += 2) {
    const channel = said[i] as string
    const instance = instances.get(channel) ?? 0
    instances.set(channel, instance + 1)
    events.push({ type: 'channel.start', channel, instance })
    for (const text of cut(said[i + 1] as string)) events.push({ type: 'channel.delta', channel, instance, text })
    events.push({ type: 'channel.end', channel, instance, closed: i === said.length - 2 && stop !== 'whole' ? 'cut' : 'tag' })
  }
  const live = events.map((event) => lanes.push(event))
  const last = stop === 'interrupted' ? lanes.abort() : lanes.end(stop)
  return { live, last, all: [...live.flat(), ...last], answer: lanes.answer() }
}

const watchUntil = (stop: Stop, ...said: readonly string[]) => watchCut(said, stop, (text) => [text])
const watch = (...said: readonly string[]) => watchUntil('whole', ...said)

interface Spelled {
  readonly lane: string
  readonly format: string
  text: string
  end: 'whole' | 'aborted' | 'open'
}

function spelled(deltas: readonly LaneDelta[]): readonly Spelled[] {
  const lanes = new Map<string, Spelled & { index: number }>()
  for (const { marker, artifactName, format, index, text, completed, aborted } of deltas) {
    const lane = artifactName === undefined ? marker : `${marker} ${artifactName}`
    const known = lanes.get(lane) ?? { lane, format, text: '', end: 'open' as const, index: -1 }
    if (index !== 0 && index !== known.index + 1) throw new Error(`${lane}: ${index} after ${known.index}`)
    lanes.set(lane, {
      lane,
      format,
      index,
      text: index === 0 ? text : known.text + text,
      end: completed ? (aborted ? 'aborted' : 'whole') : 'open',
    })
  }
  return [...lanes.values()].map(({ index: _, ...lane }) => lane)
}

const call = (toolId: string, params: unknown, notes = '') =>
  JSON.stringify({ action: 'call_tool', notes, tool_call: { tool_id: toolId, params }, final_answer: null })
const complete = '{"action":"complete"}'
const answerLane = (text: string, end: Spelled['end'] = 'whole') => ({ lane: 'answer react.final_answer.2', format: 'markdown', text, end })

describe('the answer', () => {
  it('streams from its channel once the action has said complete', () => {
    const { live, answer } = watch('action', complete, 'answer', 'Hello § you')
    expect(live[4]).toEqual([
      {
        marker: 'answer',
        artifactName: 'react.final_answer.2',
        format: 'markdown',
        index: 0,
        text: 'Hello <markdown> you',
        completed: false,
      },
    ])
    expect(live[5]).toMatchObject([{ index: 1, text: '', completed: true }])
    expect(answer).toEqual({ source: 'channel', text: 'Hello § you' })
  })

  it('loop 17.49: comes from the action field, fenced on one line, when there is no answer channel', () => {
    const body = '```json {"action":"complete","final_answer":"A §"} ```'
    const { all, answer } = watch('action', body)
    expect(spelled(all)).toEqual([answerLane('A <markdown>')])
    expect(answer).toEqual({ source: 'action', text: 'A §' })
    expect(parseModelJson(body)).toMatchObject({ ok: true, value: { final_answer: 'A §' } })
  })

  it('loop 17.50: keeps quotes that were not escaped, as the parser does', () => {
    const body = '{"action":"complete","final_answer":"He said "hi", then left."}'
    expect(spelled(watch('action', body).all)).toEqual([answerLane('He said "hi", then left.')])
    expect(parseModelJson(body)).toMatchObject({ ok: true, value: { final_answer: 'He said "hi", then left.' } })
  })

  it('loop 17.53: is never shown beside a tool call, from neither place', () => {
    const body = '{"final_answer":"early","action":"call_tool","tool_call":{"tool_id":"react.read","params":{}},"final_answer":"late"}'
    const { all, answer } = watch('answer', 'before', 'action', body, 'answer', 'after')
    expect(all).toEqual([])
    expect(answer).toBe(undefined)
  })

  it('loop 17.65: is delivered and remembered as written although the JSON breaks after it', () => {
    const { all, answer } = watch('action', '{"action":"complete","final_answer":"A §","suggested_followups":[?]}')
    expect(spelled(all)).toEqual([answerLane('A <markdown>')])
    expect(answer).toEqual({ source: 'action', text: 'A §' })
  })

  it('comes from the channel alone when both are there: nothing of the field is shown', () => {
    const body = '{"action":"complete","final_answer":"from the field"}'
    expect(spelled(watch('action', body, 'answer', 'from the channel').all)).toEqual([answerLane('from the channel')])
    expect(spelled(watch('action', body, 'answer', ' \n ').all)).toEqual([answerLane('from the field')])
  })

  it('is held until the action is known, and shown at the end when there is none: that means complete', () => {
    const late = watch('answer', 'first', 'action', complete)
    expect(late.live.slice(0, 3).flat()).toEqual([])
    expect(spelled(late.all)).toEqual([answerLane('first')])
    const none = watch('thinking', 't', 'answer', 'alone')
    expect(none.live.flat().filter(({ marker }) => marker === 'answer')).toEqual([])
    expect(spelled(none.last)).toEqual([answerLane('alone')])
    expect(spelled(watch('action', ' \n', 'answer', 'alone').all)).toEqual([answerLane('alone')])
  })

  it('is not shown when the action can not be read, or says something else', () => {
    for (const body of ['{"action":"fly"}', '{"actio', '{"action":"comp', '[{"action":"complete"}]', '{"x":{"action":"exit"}}'])
      expect(watch('action', body, 'answer', 'no').all).toEqual([])
  })

  it('loop 17.58: is not shown after two actions, and the second one shows nothing', () => {
    const second = call('react.write', { path: 'x.md', channel: 'canvas', content: 'never' })
    expect(watch('action', complete, 'action', second, 'answer', 'no').all).toEqual([])
  })

  it('goes on in a second instance, of which nothing is lost', () => {
    const replacer = () => createCitationReplacer({ format: 'markdown', sources: () => new Map(), stripUsage: true })
    const shown = (...said: readonly string[]) => watchCut(said, 'whole', (text) => text.split(''), replacer)
    const twice = shown('action', complete, 'answer', '```\none [', 'answer', 'two[[USAGE:1]].')
    expect(spelled(twice.all)).toEqual([answerLane('```\none [two.')])
    expect(twice.all.filter(({ completed }) => completed)).toHaveLength(2)
    expect(twice.answer?.text).toBe('```\none [two[[USAGE:1]].')
    const blankFirst = shown('action', complete, 'answer', '', 'answer', 'two')
    expect(blankFirst.all.map(({ text, completed }) => (completed ? 'end' : text))).toEqual(['t', 'w', 'o', 'end'])
  })

  it('is not begun by citations of which nothing is known: they leave nothing to see, and the field is shown in their place', () => {
    const replacer = () => createCitationReplacer({ format: 'markdown', sources: () => new Map(), stripUsage: true, keepUnresolved: false })
    const shown = (...said: readonly string[]) => watchCut(said, 'whole', (text) => text.split(''), replacer)
    expect(shown('action', complete, 'answer', ' [[S:9]]\n')).toMatchObject({ all: [], answer: undefined })
    expect(shown('action', '{"action":"complete","final_answer":"[[S:9]]"}')).toMatchObject({ all: [], answer: undefined })
    const both = shown('action', '{"action":"complete","final_answer":"from the field"}', 'answer', '[[S:9]]')
    expect(spelled(both.all)).toEqual([answerLane('from the field')])
    expect(both.answer).toEqual({ source: 'action', text: 'from the field' })
    expect(spelled(shown('action', complete, 'answer', '[[S:9]]', 'answer', '\n[[S:9]] two').all)).toEqual([answerLane('\n two')])
  })

  it('is kept and ended as aborted when the output limit cut it; an interrupted one that was held is not shown', () => {
    expect(spelled(watchUntil('aborted', 'action', complete, 'answer', 'half an ans').all)).toEqual([answerLane('half an ans', 'aborted')])
    expect(spelled(watchUntil('aborted', 'action', '{"action":"exit","final_answer":"half').all)).toEqual([answerLane('half', 'aborted')])
    expect(spelled(watchUntil('interrupted', 'action', complete, 'answer', 'half an ans').all)).toEqual([
      answerLane('half an ans', 'aborted'),
    ])
    expect(watchUntil('interrupted', 'answer', 'half an ans').all).toEqual([])
  })
})

describe('thinking and notes', () => {
  it('shows thinking as it comes, its index going on across instances', () => {
    const { all } = watch('thinking', 'one §', 'thinking', 'two')
    expect(all.map(({ marker, index, text, completed }) => [marker, index, text, completed])).toEqual([
      ['thinking', 0, 'one §', false],
      ['thinking', 1, '', true],
      ['thinking', 2, 'two', false],
      ['thinking', 3, '', true],
    ])
  })

  it('shows the notes of a tool call, also when they were written before the action', () => {
    const notes = { lane: 'timeline_text timeline_text.react.decision.2', format: 'markdown', text: 'Looking <markdown>', end: 'whole' }
    expect(spelled(watch('action', call('web_tools.web_search', {}, 'Looking §')).all)).toEqual([notes])
    expect(spelled(watch('action', '{"notes":"Looking §","action":" Call_Tool "}').all)).toEqual([notes])
    expect(watch('action', call('web_tools.web_search', {}, ' \n')).all).toEqual([])
  })

  it('loop 17.56: shows the answer and not the notes of a completion', () => {
    expect(spelled(watch('action', '{"notes":"x","action":"complete","final_answer":"A"}').all)).toEqual([answerLane('A')])
  })

  it('has no lane for followups and usage', () => {
    expect(watch('followup', '{"followups":["x"]}', 'usage', '{"tokens":1}').all).toEqual([])
  })
})

describe('content on its way into a file', () => {
  const write = (params: unknown) => spelled(watch('action', call('react.write', params)).all)

  it('is shown under its path, where its channel says and as its extension says', () => {
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
    expect(watch('action', call('react.patch', { path: 'a.md', channel: 'internal', patch: 'x' })).all).toEqual([])
    expect(watch('action', call('react.patch', { path: 'a.md', patch: 'ref:x' })).all).toEqual([])
    expect(watch('action', call('rendering_tools.write_pdf', { path: 'a.pdf', content: 'ref:x' })).all).toEqual([])
  })

  it('is shown when it only looks like a reference at first', () => {
    for (const content of ['r', 're', 'ref', 'refer to', 'Ref:x', ' ref:x'])
      expect(write({ path: 'a.md', channel: 'canvas', content })).toMatchObject([{ text: content }])
  })

  it('goes to the canvas when no channel was named, and nowhere without a path', () => {
    expect(write({ path: 'a.md', content: 'x' })).toMatchObject([{ lane: 'canvas a.md', text: 'x' }])
    expect(write({ path: 'a.md', channel: null, content: 'x' })).toMatchObject([{ lane: 'canvas a.md', text: 'x' }])
    expect(write({ content: 'x' })).toEqual([])
  })

  it('waits for whatever may speak against it, in any order of keys', () => {
    const late = '{"tool_call":{"params":{"content":"x","channel":"canvas","path":"a.md"},"tool_id":"react.write"},"action":"call_tool"}'
    expect(spelled(watch('action', late).all)).toMatchObject([{ lane: 'canvas a.md', text: 'x' }])
    expect(watch('action', late.replace('call_tool"}', 'complete"}')).all).toEqual([])
    expect(watch('action', late.replace('react.write', 'react.read')).all).toEqual([])
  })

  it('shows a patch as markdown on the canvas, and what is rendered in the format it is written in', () => {
    expect(spelled(watch('action', call('react.patch', { path: 'a.py', channel: 'canvas', patch: '@@ -1 +1 @@' })).all)).toEqual([
      { lane: 'canvas a.py', format: 'markdown', text: '@@ -1 +1 @@', end: 'whole' },
    ])
    const format = (tool: string, params: object) => spelled(watch('action', call(`rendering_tools.${tool}`, params)).all)[0]?.format
    expect(format('write_pdf', { path: 'a.pdf', format: 'mermaid', content: 'x' })).toBe('mermaid')
    expect(format('write_pdf', { path: 'a.pdf', content: '# x', format: 'markdown' })).toBe('markdown')
    expect(format('write_pdf', { path: 'a.pdf', content: '\n <h1>x</h1>', format: 'html' })).toBe('html')
    expect(format('write_html', { path: 'a.html', content: 'x' })).toBe('html')
    expect(format('write_png', { path: 'a.png', content: 'graph TD' })).toBe('mermaid')
    expect(format('write_pptx', { path: 'a.pptx', content: 'x' })).toBe('html')
  })

  it('streams while it is written, and is ended as aborted where the output was cut', () => {
    const body = call('react.write', { path: 'a.md', channel: 'canvas', content: 'one two three' })
    const cut = body.slice(0, body.indexOf(' three'))
    const { live, last } = watchCut(['action', cut], 'aborted', (text) => [text.slice(0, -4), text.slice(-4)])
    expect(live[1]).toMatchObject([{ marker: 'canvas', index: 0, text: 'one' }])
    expect(live[2]).toMatchObject([{ marker: 'canvas', index: 1, text: ' two' }])
    expect(last).toMatchObject([{ marker: 'canvas', index: 2, text: '', completed: true, aborted: true }])
    expect(watchUntil('aborted', 'action', body.slice(0, body.indexOf('one'))).all).toEqual([])
    expect(
      watchUntil('interrupted', 'action', call('react.write', { path: 'a.md', channel: 'canvas', content: 'ref' }).slice(0, -40)).all,
    ).toEqual([])
  })
})

describe('a plan', () => {
  const card = (params: unknown, notes = '') => {
    const lanes = spelled(watch('action', call('react.plan', params, notes)).all)
    return lanes.find(({ lane }) => lane === 'timeline_text timeline_text.react.plan.2')?.text
  }

  it('is shown as a card when the action is whole', () => {
    expect(card({ mode: 'new', steps: ['Find', 'Write'] }, '\nFirst I look.\nThen')).toBe(
      '• New Plan\n└ First I look.\n  □ Find\n  □ Write',
    )
    expect(card({ mode: 'replace', plan_id: 'p', steps: ['Find', { label: 'Write' }] })).toBe(
      '• Replaced Plan\n└ Find\n  □ Find\n  □ Write',
    )
    expect(card({ mode: 'activate', plan_id: 'plan:t:1' })).toBe('• Activated Plan\n└ Activate plan `plan:t:1`.')
    expect(card({ mode: 'close', plan_id: 'plan:t:1' })).toBe('• Closed Plan\n└ Close plan `plan:t:1`.')
  })

  it('has no card when the call makes no sense or is not whole', () => {
    expect(card({ mode: 'eat' })).toBe(undefined)
    expect(card('x')).toBe(undefined)
    expect(watch('action', call('react.plan', { mode: 'new', steps: ['x'] }).slice(0, -30)).all).toEqual([])
  })
})

describe('a program on its way', () => {
  const contract = [
    { filename: 'files/out.csv', description: 'rows' },
    { filepath: 'outputs/out.csv', description: 'again' },
    { filename: 'scratch/out.bin', description: 'no', visibility: 'internal' },
    { filename: 'outputs/sums/out.csv', description: 'sums' },
  ]
  const exec = call('exec_tools.execute_code_python', { contract, prog_name: 'sums' }, 'Add up §')

  it('is told in order: gen, name, objective, code, contract', () => {
    const { all } = watch('action', exec, 'code', '\nprint(1)\n')
    const told = all
      .filter(({ marker }) => marker === 'subsystem')
      .map(({ extra, index, text, completed }) => [extra?.sub_type, index, text, completed])
    const files = [
      { artifact_name: 'out', description: 'rows', mime: 'text/csv', filename: 'files/out.csv' },
      { artifact_name: 'out_2', description: 'again', mime: 'text/csv', filename: 'outputs/out.csv' },
      { artifact_name: 'out_4', description: 'sums', mime: 'text/csv', filename: 'outputs/sums/out.csv' },
    ]
    expect(told).toEqual([
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
      artifactName: 'react.exec.exec_1.code_exec_code',
      format: 'text',
      extra: { execution_id: 'exec_1', sub_type: 'code_exec.code', language: 'python' },
    })
  })

  it('lists a contract that is the text of one, and nothing of a contract that will be refused', () => {
    const listed = (given: unknown) => {
      const { all } = watch('action', call('exec_tools.execute_code_python', { contract: given }), 'code', 'x')
      return JSON.parse(all.find(({ extra }) => extra?.sub_type === 'code_exec.contract')?.text ?? '').contract.length
    }
    expect([contract, JSON.stringify(contract), [...contract, { filename: 'files/b.csv' }], 'files/b.csv', {}].map(listed)).toEqual([
      3, 3, 0, 0, 0,
    ])
  })

  it('says that the code is missing', () => {
    for (const said of [
      ['action', exec],
      ['action', exec, 'code', ' \n'],
    ])
      expect(watch(...said).last).toEqual([execStatusDelta('exec_1', { status: 'error', timings: {}, error: 'missing_code' })])
  })

  it('does not show code that belongs to no exec call, and holds code that came too early', () => {
    expect(watch('action', call('react.read', {}), 'code', 'x').all).toEqual([])
    expect(watch('action', complete, 'code', 'x').all).toEqual([])
    expect(watch('code', 'x').all).toEqual([])
    const early = watch('code', 'x = 1', 'action', exec)
    expect(early.live.slice(0, 3).flat()).toEqual([])
    expect(spelled(early.all).find(({ lane }) => lane.endsWith('code_exec_code'))).toMatchObject({ text: 'x = 1', end: 'whole' })
  })

  it('ends code as aborted when the output limit or a person cut it', () => {
    for (const ending of ['aborted', 'interrupted'] as const)
      expect(
        spelled(watchUntil(ending, 'action', exec, 'code', 'x =').all).find(({ lane }) => lane.endsWith('code_exec_code')),
      ).toMatchObject({ text: 'x =', end: 'aborted' })
  })

  it('gives the loop its later states, each replacing the one before', () => {
    expect(execStatusDelta('exec_1', { status: 'done', timings: { codegen: 12, exec: 30 } })).toEqual({
      marker: 'subsystem',
      artifactName: 'react.exec.exec_1.code_exec_status',
      format: 'json',
      index: 0,
      text: '{"status":"done","timings":{"codegen":12,"exec":30}}',
      completed: true,
      extra: { execution_id: 'exec_1', sub_type: 'code_exec.status' },
    })
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
    ['action', '{"action":"complete","final_answer":"He said "hi", then\nleft \\ud83d\\ude00."}'],
    ['answer', 'early bird', 'action', '{"notes":"x","action":"exit","final_answer":"unseen",}'],
    ['action', call('rendering_tools.write_pdf', { path: 'a.pdf', content: ' \n <p>x', format: 'html' })],
    ['action', call('exec_tools.execute_code_python', { contract: [], prog_name: 'p' }, 'n'), 'code', '\n\nx = "</p>"\n'],
    ['action', call('react.plan', { mode: 'new', steps: ['a', 'b'] }, 'note')],
    ['action', '{"action":"call_tool","tool_call":{"params":{"path":"a.md","channel":"canvas","content":"re'],
  ]

  it('spell the same wherever the text was cut: every two-way cut, single characters, 500 random segmentations', () => {
    for (const said of responses) {
      const longest = Math.max(...said.map((text) => text.length))
      for (const cut of cuts(longest)) same(watchCut(said, 'whole', cut), watch(...said))
      for (const stop of ['aborted', 'interrupted'] as const)
        same(
          watchCut(said, stop, (text) => text.split('')),
          watchUntil(stop, ...said),
        )
    }
  })
})

function same(again: ReturnType<typeof watch>, whole: ReturnType<typeof watch>) {
  const [now, before] = [again, whole].map(({ all, answer }) => ({ lanes: spelled(all), answer }))
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
