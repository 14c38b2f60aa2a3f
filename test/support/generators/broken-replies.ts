import fc from 'fast-check'
import { reply, type ScriptedReply } from '../../../src/testing/scripted-model.ts'

/** Any output of a model: valid replies, damaged replies and noise, in any pieces and with any end. */
const text = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '\n',
    'A',
    'He said "hi", then left.',
    'See [[S:1]] and [[S:9]].',
    '[[S:9]]',
    '`</channel:answer>`',
    'ref:fi:x',
    '✓ [1] a\n✗ 9',
    '__proto__',
  ),
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.string({ maxLength: 60 }),
)
const path = fc.oneof(fc.constantFrom('files/a.md', 'outputs/x.bin', '../../etc/passwd', 'fi:t.files/a.md', '/abs', ''), text)
const params = fc.oneof(
  fc.record({ city: fc.oneof(text, fc.jsonValue()) }),
  fc.record({
    path,
    channel: fc.constantFrom('canvas', 'internal', 'timeline_text', 'x'),
    content: fc.oneof(text, fc.jsonValue()),
    kind: fc.constantFrom('file', 'display', 7),
  }),
  fc.record({ content: text, path }),
  fc.record({ paths: fc.oneof(fc.array(path, { maxLength: 3 }), text) }),
  fc.record(
    { mode: fc.constantFrom('new', 'activate', 'replace', 'close', 'x'), plan_id: text, steps: fc.array(text, { maxLength: 3 }) },
    { requiredKeys: ['mode'] },
  ),
  fc.record({ path, replacement_text: text }),
  fc.jsonValue(),
)
const toolId = fc.constantFrom(
  ...['weather.today', 'react.write', 'react.read', 'react.plan', 'react.hide', 'react.memory_hide', 'sample.exec'],
  ...['ctx_tools.fetch_ctx', 'no.such', 'toString', '__proto__', '', ' '],
)
const call = fc
  .tuple(toolId, params, text, fc.option(text, { nil: undefined }))
  .map(([id, given, notes, code]) => reply.call(id, given as object, { notes, ...(code !== undefined && { code }) }))
const answer = fc.tuple(text, fc.array(text, { maxLength: 3 })).map(([words, followups]) => reply.answer(words, { followups }))
const action = fc.record(
  {
    action: fc.oneof(fc.constantFrom('complete', 'exit', 'CALL_TOOL ', 'clarify', 'dance', ''), fc.jsonValue()),
    notes: fc.oneof(text, fc.jsonValue()),
    tool_call: fc.oneof(fc.record({ tool_id: fc.oneof(toolId, fc.jsonValue()), params }, { requiredKeys: [] }), fc.jsonValue()),
    final_answer: fc.oneof(text, fc.jsonValue()),
    suggested_followups: fc.jsonValue(),
    clarification_questions: fc.jsonValue(),
  },
  { requiredKeys: [] },
)
const field = action.map((value) => `<channel:thinking>x</channel:thinking><channel:action>${JSON.stringify(value)}</channel:action>`)
const good = fc.constantFrom(
  reply.call('weather.today', { city: 'Rome' }, { notes: 'Looking.' }),
  reply.call('react.plan', { mode: 'new', steps: ['a', 'b'] }),
  reply.call('react.write', { path: 'files/a.md', channel: 'canvas', content: '# A\n[[S:1]]', kind: 'file' }),
  reply.call('sample.exec', { contract: [{ filename: 'a.txt', description: 'a' }] }, { code: 'print(1)' }),
)
const valid = fc.oneof(good, good, call, answer, field)

/** A word that occurs only in content that users must never see. */
export const secret = 'SECRET'

const written = (params: string) =>
  `<channel:thinking>x</channel:thinking><channel:action>{"action":"call_tool","tool_call":{"tool_id":"react.write","params":{${params}}}}</channel:action>`
const onCanvas = '"path":"files/a.md","channel":"canvas"'
/** Actions with repeated keys. They contain `secret` only in content that was not for users when it began. */
const repeatedKeys = fc.constantFrom(
  written(`${onCanvas},"content":"seen","kind":"file","channel":"internal"`),
  written(`${onCanvas},"channel":"internal","content":"${secret}","kind":"file"`),
  written(`"path":"files/a.md","content":"${secret}","channel":"canvas","channel":"internal","kind":"file"`),
  written(`"path":"files/a.md","channel":"internal","content":"${secret}","channel":"canvas"`),
  written(`${onCanvas},"content":"seen"},"params":{"path":"files/a.md","content":"${secret}","channel":"internal"`),
  written(`${onCanvas},"content":"seen","path":"files/b.md"`),
  written(`${onCanvas},"content":"seen","kind":"file"},"tool_id":"react.read","more":{"x":1`),
  written(`${onCanvas},"content":"seen","kind":"file"}},"action":"complete","final_answer":"${secret}","more":{"x":{"y":1`),
  written(`${onCanvas},"content":"seen","content":"seen again","kind":"file","kind":"file"`),
)
/** Responses that answer and also call a tool, in one action or in two. */
const secondAction = fc
  .tuple(
    fc.constantFrom(reply.answer('First.'), reply.answer('Second [[S:9]].')),
    fc.oneof(good, fc.constant('<channel:action>{"action":"exit"}')),
  )
  .map(([first, second]) => first + second.replace(/^<channel:thinking>.*?<\/channel:thinking>/s, ''))
const answerAndCall = fc.tuple(fc.constantFrom('complete', 'exit'), fc.boolean(), fc.boolean()).map(([kind, callFirst, inChannel]) => {
  const tool_call = { tool_id: 'weather.today', params: { city: 'Rome' } }
  const value = callFirst ? { tool_call, action: kind } : { action: kind, tool_call }
  const body = JSON.stringify(inChannel ? value : { ...value, final_answer: secret })
  return `<channel:thinking>x</channel:thinking><channel:action>${body}</channel:action>${inChannel ? `<channel:answer>${secret}</channel:answer>` : ''}`
})
const prose = fc.constantFrom(
  'It is clear in Rome.',
  'Sure! See [[S:9]] and `<channel:answer>`.',
  `{"action":"call_tool","tool_call":{"tool_id":"react.write","params":{"path":"a","channel":"internal","content":"${secret}"}}}`,
  `Fine. <channel:answer>${secret}</channel:answer>`,
)
/**
 * Replies that break a rule. `prose` is listed twice, so that it is chosen twice as often: the second text without channels in a turn is
 * handled in another way than the first.
 */
const rude = fc.oneof(repeatedKeys, secondAction, answerAndCall, prose, prose)

const fragments = [
  ...['<channel:thinking>', '</channel:thinking>', '<channel:action>', '</channel:action>', '<channel:code>', '</channel:code>'],
  ...['<channel:answer>', '</channel:answer>', '<channel:followup>', '<CHANNEL:Decision>', '< / channel:answer >', '<channel:', '</', '<'],
  ...[
    '"',
    '\\',
    '{',
    '}',
    ',',
    '[',
    ']',
    '```json\n',
    '```',
    '`',
    '\n',
    '\u2028',
    '\ud83d',
    '\u0000',
    '{"action":"complete"}',
    'Sure, ',
    '[[S:',
  ],
]
/** A valid reply with a part removed and a fragment inserted. */
const cut = fc
  .tuple(valid, fc.nat({ max: 220 }), fc.nat({ max: 40 }), fc.constantFrom('', ...fragments))
  .map(([whole, at, length, piece]) => whole.slice(0, at) + piece + whole.slice(at + length))
const spliced = fc.tuple(valid, valid, fc.nat({ max: 200 }), fc.nat({ max: 200 })).map(([a, b, x, y]) => a.slice(0, x) + b.slice(y))
const noise = fc.oneof(
  fc.array(fc.oneof(fc.constantFrom(...fragments), text), { maxLength: 12 }).map((pieces) => pieces.join('')),
  fc.string({ unit: 'binary', maxLength: 80 }),
)

const ending = fc.constantFrom<Pick<ScriptedReply, 'finish' | 'error'>>(
  ...[{}, {}, {}, {}, { finish: 'length' as const }, { finish: 'content_filter' as const }, { finish: 'other' as const }],
  { error: { kind: 'connection', retryable: true } },
  { error: { kind: 'invalid_request', message: 'prompt is too long' } },
)

export const brokenReply: fc.Arbitrary<ScriptedReply> = fc
  .tuple(fc.oneof(valid, cut, cut, cut, spliced, noise, rude, rude), ending, fc.constantFrom(undefined, undefined, 5, 40))
  .map(([reply, end, chunks]) => ({ text: reply, ...end, ...(chunks !== undefined && { chunks }) }))
