import { describe, expect, it } from 'vitest'
import { decided, responseOf } from '../../../test/support/decisions/responses.ts'
import { type ParsedResponse, parseResponse } from './decision.ts'
import { type DecisionOptions, readDecision } from './read.ts'

const call = { action: 'call_tool', notes: 'Searching.', tool_call: { tool_id: 'web_tools.web_search', params: { queries: ['x'], n: 3 } } }
const complete = { action: 'complete' }

/** The decision and the codes of its warnings, or the notice about the broken rule. */
function read(response: ParsedResponse, options?: DecisionOptions) {
  const reading = readDecision(response, options)
  const warnings = reading.warnings.map(({ code }) => code.replace('protocol_warning.', ''))
  return reading.ok ? { ...reading.decision, warnings } : { violation: reading.violation.code, notice: reading.violation, warnings }
}
const violation = (response: ParsedResponse, options?: DecisionOptions) => {
  const reading = readDecision(response, options)
  return reading.ok ? undefined : reading.violation
}

describe('a call', () => {
  it('has its notes, its parameters and their order of writing', () => {
    expect(read(decided(call))).toEqual({
      action: 'call_tool',
      notes: 'Searching.',
      toolId: 'web_tools.web_search',
      params: { queries: ['x'], n: 3 },
      paramKeys: ['queries', 'n'],
      warnings: [],
    })
  })

  it('has the unchanged text of the code channel', () => {
    const exec = { action: ' CALL_TOOL ', tool_call: { tool_id: 'exec_tools.execute_code_python', params: null } }
    expect(read(decided(exec, ['code', '\n  print(1)\n']))).toMatchObject({ code: '\n  print(1)\n', params: {}, notes: '' })
    expect(read(decided(exec, ['code', ' \n']))).not.toHaveProperty('code')
  })

  it('warns about repeated keys, and the last value counts', () => {
    const twice = '{"notes":"a","notes":"b","action":"call_tool","tool_call":{"tool_id":"t","params":{"10":1,"b":1,"2":1,"b":2}}}'
    expect(read(decided(twice))).toMatchObject({ params: { b: 2 }, paramKeys: ['10', 'b', '2', 'b'], warnings: ['duplicate_keys'] })
    expect(readDecision(decided(twice)).warnings[0]).toMatchObject({ keys: ['notes', 'params.b'] })
  })
})

describe('an answer', () => {
  it('comes from its channel, with followups', () => {
    const response = decided(
      complete,
      ['answer', '\n\n    indented\nSee [[S:1]].\n\n'],
      ['followup', '{"followups":["More", " ", "More","Less"]}'],
    )
    expect(read(response)).toEqual({
      action: 'complete',
      answer: '    indented\nSee [[S:1]].',
      followups: ['More', 'Less'],
      truncated: false,
      warnings: [],
    })
  })

  it('may be in the action, with followups', () => {
    const response = decided({ action: 'exit', notes: null, tool_call: {}, final_answer: 'Done.', suggested_followups: 'More', extra: 1 })
    expect(read(response)).toEqual({ action: 'exit', answer: 'Done.', followups: ['More'], truncated: false, warnings: [] })
  })

  it('comes from the channel when it is in both, with a warning', () => {
    const both = decided({ ...complete, final_answer: 'field', suggested_followups: ['a'] }, ['answer', 'channel'], ['followup', '["b"]'])
    expect(read(both)).toMatchObject({ answer: 'channel', followups: ['b'], warnings: ['final_answer_twice'] })
  })

  it('without an action means complete, with a warning', () => {
    const alone = responseOf([
      ['thinking', 'x'],
      ['answer', 'Hi'],
    ])
    expect(read(alone)).toMatchObject({ action: 'complete', answer: 'Hi', warnings: ['answer_without_action'] })
    expect(read(decided(' \n', ['answer', 'Hi']))).toMatchObject({ action: 'complete', warnings: ['answer_without_action'] })
  })

  it('loop 17.56: is accepted with notes, which are dropped with a warning', () => {
    expect(read(decided({ ...complete, notes: 'x', final_answer: 'A' }))).toMatchObject({
      answer: 'A',
      warnings: ['final_answer_with_notes'],
    })
  })

  it('loop 17.61: is accepted from repaired JSON, with a warning that names the repair', () => {
    expect(read(decided('{"action":"complete","final_answer":"ok",}'))).toMatchObject({ answer: 'ok', warnings: ['action_json_repaired'] })
    expect(readDecision(decided('{"action":"complete","final_answer":"ok",}')).warnings[0]).toMatchObject({ repairs: ['trailing_comma'] })
  })

  it('loop 17.49: may be in a fence on one line', () => {
    expect(read(decided('```json {"action":"complete","final_answer":"A"} ```'))).toMatchObject({ answer: 'A', warnings: [] })
  })

  it('is kept and marked as truncated when the output limit cut it', () => {
    const response = responseOf(
      [
        ['thinking', 'x'],
        ['action', JSON.stringify(complete)],
        ['answer', 'So far so'],
      ],
      { finishReason: 'length' },
    )
    expect(read(response)).toMatchObject({ answer: 'So far so', truncated: true, warnings: ['answer_truncated'] })
    const filtered = { ...response, finishReason: 'content_filter' as const }
    expect(read(filtered)).toMatchObject({ truncated: true, warnings: ['answer_truncated'] })
    const open = { ...response, finishReason: 'stop' as const }
    expect(read(open)).toMatchObject({ truncated: false, warnings: [] })
  })

  it('is complete when only text after it was cut', () => {
    const response = responseOf(
      [
        ['thinking', 'x'],
        ['action', JSON.stringify(complete)],
        ['answer', 'A'],
        ['followup', '{"followups":["b'],
      ],
      {
        finishReason: 'length',
      },
    )
    expect(read(response)).toMatchObject({ answer: 'A', truncated: false, followups: [], warnings: ['followups_unreadable'] })
  })

  it('need not be repeated when the user has seen it', () => {
    expect(read(decided(complete), { delivered: 'A' })).toMatchObject({ action: 'complete', answer: 'A' })
    expect(read(decided(complete, ['answer', 'B']), { delivered: 'A' })).toMatchObject({ answer: 'B' })
  })

  it('may list its questions', () => {
    const asking = { action: 'exit', final_answer: 'Which one?', clarification_questions: ['Which one?'] }
    expect(read(decided(asking))).toMatchObject({ action: 'exit', questions: ['Which one?'] })
    expect(read(decided({ ...asking, action: 'clarify' }), { clarify: true })).toMatchObject({ action: 'exit', questions: ['Which one?'] })
    expect(read(decided({ ...asking, action: 'clarify' }))).toMatchObject({ violation: 'protocol_violation.invalid_action:clarify' })
  })

  it('keeps at most six followups, in order, each once', () => {
    const response = decided({ ...complete, final_answer: 'A', suggested_followups: ['1', 2, '1', ' 3 ', '4', '5', '6', '7', '8'] })
    expect(read(response)).toMatchObject({ followups: ['1', '3', '4', '5', '6', '7'] })
  })
})

describe('a response that breaks a rule', () => {
  it('loop 17.53: is rejected for call_tool with an answer, in the channel or in the action', () => {
    const expected = { code: 'protocol_violation.final_answer_with_tool_call', tool_id: 'web_tools.web_search' }
    expect(violation(decided({ ...call, final_answer: 'Hi' }))).toMatchObject(expected)
    expect(violation(decided(call, ['answer', 'Hi']))).toMatchObject(expected)
  })

  it('loop 17.55: is rejected for complete with a blank answer', () => {
    expect(read(decided({ ...complete, final_answer: ' \n' }, ['answer', '  ']))).toMatchObject({
      violation: 'protocol_violation.final_answer_required',
    })
  })

  it('loop 17.58: is rejected for two actions', () => {
    const two = responseOf([
      ['thinking', 'x'],
      ['action', JSON.stringify(call)],
      ['action', JSON.stringify(call)],
    ])
    expect(violation(two)).toMatchObject({ code: 'protocol_violation.multiple_actions', count: 2 })
    expect(violation(decided(`${JSON.stringify(call)}\n${JSON.stringify(call)}`))).toMatchObject({ count: 2 })
  })

  it('gets a notice with the problem, the effect and the next step', () => {
    expect(violation(decided({ ...complete, tool_call: { tool_id: 'react.read', params: {} } }))?.message).toMatchInlineSnapshot(
      `"The action is "complete", but it carries a tool_call. Nothing ran. Send "complete" with the answer and no tool_call, or "call_tool" with the call and no answer."`,
    )
  })

  it('gets a notice that mentions a part that the user has seen', () => {
    expect(violation(decided(complete), { shown: true })?.message).toMatchInlineSnapshot(
      `"The action is "complete", but the answer is blank. Nothing ran. The user has already seen a part of this reply: correct it, and do not repeat what was shown. Write the answer as plain markdown in the \`answer\` channel after the action."`,
    )
  })

  it('gets a notice with the path where the output limit cut it', () => {
    const cut = (channels: readonly (readonly [string, string])[]) =>
      violation(responseOf(channels, { finishReason: 'length', maxTokens: 512 }))
    const write = '{"action":"call_tool","tool_call":{"tool_id":"react.write","params":{"path":"files/a.md","content":"Once upon'
    expect(
      cut([
        ['thinking', 'x'],
        ['action', write],
      ]),
    ).toMatchObject({
      code: 'protocol_violation.action_truncated',
      max_tokens: 512,
      last_path: 'tool_call.params.content',
    })
    expect(cut([['thinking', 'hmm']])).toMatchObject({ last_path: 'thinking' })
    expect(
      cut([
        ['thinking', 'x'],
        ['action', JSON.stringify(call)],
        ['code', 'print('],
      ]),
    ).toMatchObject({ last_path: 'code' })
    expect(
      cut([
        ['thinking', 'x'],
        ['action', JSON.stringify(complete)],
      ]),
    ).toMatchObject({ last_path: 'answer' })
  })

  it('is not reported as truncated when the limit came after the invalid part', () => {
    const after = responseOf(
      [
        ['thinking', 'x'],
        ['action', '{"action":'],
        ['answer', 'So far'],
      ],
      { finishReason: 'length' },
    )
    expect(violation(after)).toMatchObject({ code: 'protocol_violation.action_schema_error' })
  })

  it('is quoted only up to the length limits', () => {
    const long = 'x'.repeat(5_000)
    const broken = violation(decided(`{"action":"call_tool","notes":${long}}`))
    expect(broken?.code).toBe('protocol_violation.action_schema_error')
    expect(String(broken?.parser_error).length).toBeLessThanOrEqual(500)
    expect(String(broken?.diagnostic_excerpt).length).toBeLessThanOrEqual(1800)
    expect(String(violation(responseOf([], { raw: long, preamble: long }))?.raw_preview).length).toBe(900)
    expect(
      String(violation(responseOf([['thinking', 'x']], { preamble: '😀'.repeat(5_000) }))?.preamble_preview).length,
    ).toBeLessThanOrEqual(900)
    expect(violation(decided({ action: long }))?.code.length).toBeLessThanOrEqual(80)
    expect(violation(decided({ ...call, final_answer: 'x', tool_call: { tool_id: long } }))?.message.length).toBeLessThan(500)
  })

  it.each([
    ['[]', 'must be one JSON object, not a list'],
    ['{}', '"action" must be a string, not missing'],
    ['{"action":null}', '"action" must be a string, not null'],
    ['{"action":"exit","notes":["x"]}', '"notes" must be a string, not a list'],
    ['{"action":"exit","final_answer":{"a":1}}', '"final_answer" must be a string, not an object'],
    ['{"action":"call_tool","tool_call":"react.read"}', '"tool_call" must be an object or null, not a string'],
    ['no json', 'There is no JSON object in the text.'],
  ])('%s: %s', (text, problem) => {
    expect(violation(decided(text))).toMatchObject({
      code: 'protocol_violation.action_schema_error',
      parser_error: expect.stringContaining(problem),
    })
  })
})

describe('an interrupted stream', () => {
  const broken = (response: ParsedResponse, closed: 'tag' | 'cut') => ({
    ...response,
    finishReason: 'error' as const,
    channels: response.channels.map((channel, i) => (i === response.channels.length - 1 ? { ...channel, closed } : channel)),
    errorType: 'overloaded',
  })

  it('is rejected when its last channel is open', () => {
    expect(violation(broken(decided(complete, ['answer', 'half']), 'cut'))).toMatchObject({
      code: 'service_interrupted',
      error_type: 'overloaded',
    })
    expect(violation(broken(decided(complete), 'tag'))).toMatchObject({ code: 'service_interrupted' })
    expect(violation(responseOf([], { finishReason: 'error' }))).toMatchObject({ code: 'service_interrupted', error_type: 'stream_broken' })
  })

  it('keeps a decision that was complete before', () => {
    expect(read(broken(decided(complete, ['answer', 'whole']), 'tag'))).toMatchObject({ answer: 'whole', truncated: false })
  })
})

describe('the usage channel', () => {
  const usageOf = (text: string) => {
    const reading = readDecision(decided({ action: 'complete' }, ['answer', 'A'], ['usage', text]))
    if (!reading.ok || reading.decision.action === 'call_tool') throw new Error('The response was rejected.')
    return { usage: reading.decision.usage, warnings: reading.warnings.map(({ code }) => code) }
  }

  it('is part of the decision, as the model wrote it', () => {
    expect(usageOf('```json\n{"tokens": 12, "sids": [1, 3]}\n```')).toEqual({ usage: { tokens: 12, sids: [1, 3] }, warnings: [] })
    expect(usageOf(' \n')).toEqual({ usage: undefined, warnings: [] })
  })

  it.each(['{"tokens":', '[1]', '"x"', '7', `{"a": "${'x'.repeat(8_000)}"}`])('costs no answer when it can not be used: %s', (text) => {
    expect(usageOf(text)).toEqual({ usage: undefined, warnings: ['protocol_warning.usage_unreadable'] })
  })
})

describe('a key that decides what is called', () => {
  const write = (params: string, rest = '') => `{"action":"call_tool","tool_call":{"tool_id":"react.write","params":{${params}}}${rest}}`
  const keysOf = (text: string) => {
    const notice = violation(decided(text))
    return notice?.code === 'protocol_violation.duplicate_key' ? notice.keys : notice?.code
  }

  it.each([
    [write('"path":"a.md","channel":"canvas","content":"x","channel":"internal"'), ['params.channel']],
    [write('"path":"a.md","path":"b.md"'), ['params.path']],
    [write('"kind":"file","kind":"display","path":"a","path":null'), ['params.kind', 'params.path']],
    [write('"path":"a"', ',"action":"complete"'), ['action']],
    [write('"path":"a"},"tool_id":"react.read","x":{"y":1'), ['tool_call.tool_id']],
    [write('"path":"a"},"params":{"path":"a","content":"x"'), ['tool_call.params']],
    [write('"path":"a"', ',"tool_call":null'), ['tool_call']],
    [write('"path":"a"', ',"tool_call":{"tool_id":"react.write","params":{"path":"b"}}'), ['params.path', 'tool_call.params', 'tool_call']],
    [`${write('"path":"a","p\\u0061th":"b"').slice(0, -1)},}`, ['params.path']],
    ['{"action":"complete","action":"exit","final_answer":"A"}', ['action']],
  ])('may not be repeated with another value: %s', (text, keys) => {
    expect(keysOf(text)).toEqual(keys)
  })

  it('may be repeated with the same value, and other keys with any: the last value counts, with a warning', () => {
    const same = write(
      '"path":"a","channel":"canvas","path":"a","content":"x","content":"y"',
      ',"action":"call_tool","notes":"a","notes":"b"',
    )
    expect(read(decided(same))).toMatchObject({
      toolId: 'react.write',
      params: { path: 'a', content: 'y' },
      notes: 'b',
      warnings: ['duplicate_keys'],
    })
  })
})

describe('a text without any channel', () => {
  const plain = (raw: string, more: Partial<ParsedResponse> = {}) => responseOf([], { raw, preamble: raw, ...more })
  const asked = { plainText: true }

  it('is refused at first, and is the answer once the model was asked to write channels', () => {
    expect(read(plain('It is clear.'))).toMatchObject({ violation: 'protocol_violation.decision_missing_protocol_channels' })
    expect(read(plain('\n It is clear. \n'), asked)).toEqual({
      ...{ action: 'complete', answer: ' It is clear.', followups: [], truncated: false },
      warnings: ['answer_without_channels'],
    })
    expect(read(plain('It is', { finishReason: 'length' }), asked)).toMatchObject({
      truncated: true,
      warnings: ['answer_without_channels', 'answer_truncated'],
    })
  })

  it.each([
    ['it is blank', plain(' \n'), 'protocol_violation.decision_missing_protocol_channels'],
    ['it only cites unknown sources', plain('[[S:9]]'), 'protocol_violation.decision_missing_protocol_channels'],
    [
      'it has a close tag',
      parseResponse('Hi</channel:answer> you', { finishReason: 'stop', maxTokens: 1 }),
      'protocol_violation.decision_missing_protocol_channels',
    ],
    [
      'it holds an action',
      plain('```json\n{"action": "call_tool", "tool_call": {}}\n```'),
      'protocol_violation.decision_missing_protocol_channels',
    ],
    [
      'it holds the beginning of a call',
      plain('{"tool_call": {"tool_id": "react.wr'),
      'protocol_violation.decision_missing_protocol_channels',
    ],
    ['its stream broke', plain('It is', { finishReason: 'error' }), 'service_interrupted'],
    [
      'a channel follows',
      parseResponse('Hi<channel:thinking>x', { finishReason: 'stop', maxTokens: 1 }),
      'protocol_violation.decision_preamble_before_first_channel',
    ],
  ])('is no answer when %s', (_, response, code) => {
    expect(read(response, { ...asked, isSource: () => false })).toMatchObject({ violation: code })
  })
})
