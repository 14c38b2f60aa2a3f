import fc from 'fast-check'
import { reply, type ScriptedReply } from '../../../src/testing/scripted-model.ts'

/** Any output of a model: valid replies, cut and spliced ones, and noise, in any chunks and with any ending. */
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
/** A valid reply from which a part is removed and into which a fragment is inserted. */
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
  .tuple(fc.oneof(valid, cut, cut, cut, spliced, noise), ending, fc.constantFrom(undefined, undefined, 5, 40))
  .map(([reply, end, chunks]) => ({ text: reply, ...end, ...(chunks !== undefined && { chunks }) }))
