import fc from 'fast-check'
import type { ScriptedCall, ScriptedReply } from '../../../src/testing/scripted-model.ts'

/** Any output of a model in the dialect `native`: valid calls, broken calls and text in any place, in any pieces and with any end. */
const words = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '\n',
    'It is clear in Rome.',
    'See [[S:1]] and [[S:9]].',
    '[[S:9]]',
    '<think>Hm.</think>It is clear.',
    '<think>never closed',
    '<channel:followup>{"followups": ["And tomorrow?"]}</channel:followup>',
    'Done.\n<channel:followup>{"followups": [',
    '<channel:thinking>x</channel:thinking><channel:action>{"action":"complete"}</channel:action><channel:answer>Yes.</channel:answer>',
    '<channel:action>{"action":"call_tool","tool_call":{"tool_id":"weather.today","params":{"city":"Rome"}}}</channel:action>',
    '<tool_call>{"name": "weather__today", "arguments": {"city": "Rome"}}</tool_call>',
    '<tool_call>{"name": "weather__today", ',
    'Sure, I will call it:\n```json\n{"name": "weather.today", "parameters": {"city": "Rome"}}\n```',
    '{"name": "web_search", "arguments": {"q": "x"}}',
    '[TOOL_CALLS][{"name": "weather__today", "arguments": {"city": "Oslo"}}]',
  ),
  fc.string({ maxLength: 60 }),
  fc.string({ unit: 'binary', maxLength: 30 }),
)

const name = fc.constantFrom(
  ...['weather__today', 'weather.today', 'react__write', 'react__read', 'react__plan', 'sample__exec', 'weather_today'],
  ...['web_search', 'toString', '__proto__', 'constructor', '', ' ', 'x'.repeat(200)],
)

const params = fc.oneof(
  fc.constantFrom(
    { city: 'Rome' },
    { path: 'files/a.md', channel: 'canvas', content: '# A\n[[S:1]]', kind: 'file' },
    { content: 'x', kind: 'file', channel: 'internal', path: 'files/b.md' },
    { contract: [{ filename: 'a.txt', description: 'a' }], program: 'print(1)' },
    { contract: [{ filename: 'a.txt', description: 'a' }], program: '```python\nprint(1)\n```' },
    { mode: 'new', steps: ['a', 'b'] },
  ),
  fc.record({ city: fc.oneof(words, fc.jsonValue()) }),
  fc.jsonValue(),
)
const json = params.map((value) => JSON.stringify(value))
/** Arguments with a part removed and something else inserted. */
const damaged = fc
  .tuple(json, fc.nat({ max: 80 }), fc.nat({ max: 20 }), fc.constantFrom('', '"', '{', '}', ',', '\\', '\n', '\u0000', '\ud83d', '}}{'))
  .map(([whole, at, length, piece]) => whole.slice(0, at) + piece + whole.slice(at + length))
const repeated = fc.constantFrom(
  '{"path":"files/a.md","channel":"canvas","content":"seen","channel":"internal"}',
  '{"path":"files/a.md","path":"files/b.md","content":"x"}',
)
const input = fc.oneof(
  json,
  json,
  damaged,
  repeated,
  fc.constantFrom('', '{', 'null', '[]', '"Rome"', '{"city":"Rome"}{"city":"Oslo"}'),
  words,
)
const call: fc.Arbitrary<ScriptedCall> = fc.record({ name, input, open: fc.constant(true as const) }, { requiredKeys: ['name', 'input'] })

/** A reply in the dialect `native`. */
export const brokenNativeReply: fc.Arbitrary<ScriptedReply> = fc
  .record(
    {
      text: words,
      reasoning: words,
      calls: fc.oneof(fc.array(call, { maxLength: 3 }), fc.array(call, { minLength: 17, maxLength: 18 })),
      chunks: fc.integer({ min: 1, max: 40 }),
      finish: fc.constantFrom('stop', 'stop', 'stop', 'length', 'content_filter', 'other'),
      error: fc.constantFrom({ kind: 'connection' as const, retryable: true }, { kind: 'malformed_response' as const }),
    },
    { requiredKeys: [] },
  )
  .map(({ error, ...reply }) => (error && Object.keys(reply).length % 3 === 0 ? { ...reply, error } : reply)) as fc.Arbitrary<ScriptedReply>
