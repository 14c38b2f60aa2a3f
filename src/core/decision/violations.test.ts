import fc from 'fast-check'
import { expect, it } from 'vitest'
import { decided, responseOf } from '../../../test/support/decisions/responses.ts'
import { someTools } from '../../../test/support/decisions/signatures.ts'
import { changePlan } from '../plan/plan-change.ts'
import { emptyTimeline } from '../timeline/timeline.ts'
import { checkCall } from './check-call.ts'
import { type ParsedResponse, parseResponse } from './decision.ts'
import { readDecision } from './read.ts'
import { type callViolations, type planViolations, type responseViolations, snippet } from './violations.ts'

type Code = (typeof responseViolations)[number] | (typeof callViolations)[number] | (typeof planViolations)[number]

const call = (toolId: string, params: unknown, code = '') =>
  decided({ action: 'call_tool', tool_call: { tool_id: toolId, params } }, ['code', code])
const write = (...entries: readonly (readonly [string, unknown])[]) => call('react.write', Object.fromEntries(entries))
const plan = (params: { readonly [key: string]: string }) => call('react.plan', params)

const mail = { id: 'mail.send', parameters: [], order: 'soft', strategy: 'neutral', notOffered: true } as const
const tools = { ids: someTools.ids, find: (id: string) => (id === mail.id ? mail : someTools.find(id)) }

/** For each code, the shortest response that breaks the rule. If a code is missing, the file does not compile. */
const provocations: { readonly [C in Code]: ParsedResponse } = {
  decision_preamble_before_first_channel: responseOf([['thinking', 'x']], { preamble: 'Sure, ' }),
  decision_first_channel_not_thinking: responseOf([['action', '{}']]),
  decision_missing_protocol_channels: responseOf([], { raw: 'Hello', preamble: 'Hello' }),
  missing_action: responseOf([['thinking', 'x']]),
  action_schema_error: decided('{"action":'),
  action_truncated: responseOf(
    [
      ['thinking', 'x'],
      ['action', '{"action":'],
    ],
    { finishReason: 'length' },
  ),
  multiple_actions: decided('{"action":"exit"} {"action":"exit"}'),
  invalid_action: decided({ action: 'think' }),
  final_answer_required: decided({ action: 'complete' }),
  final_answer_with_tool_call: decided({ action: 'call_tool', tool_call: { tool_id: 'react.read' }, final_answer: 'x' }),
  tool_call_with_final_answer: decided({ action: 'exit', tool_call: { tool_id: 'react.read' }, final_answer: 'x' }),
  missing_tool_id: decided({ action: 'call_tool', tool_call: { tool_id: ' ', params: { a: 1 } } }),
  code_channel_without_single_exec: decided({ action: 'complete', final_answer: 'x' }, ['code', 'print(1)']),
  duplicate_key: decided('{"action":"complete","action":"exit","final_answer":"x"}'),
  call_in_text: responseOf([['answer', '<tool_call>{"name": ']], { calls: [] }),
  path_not_first: write(['content', 'x'], ['path', 'a']),
  channel_not_second: write(['path', 'a'], ['content', 'x'], ['channel', 'canvas']),
  content_not_third: write(['path', 'a'], ['channel', 'canvas'], ['kind', 'file'], ['content', 'x']),
  kind_not_fourth: write(['path', 'a'], ['channel', 'canvas'], ['content', 'x'], ['scratchpad', true], ['kind', 'file']),
  tool_not_allowed_in_react: call('ctx_tools.fetch_ctx', { path: 'x' }),
  tool_not_offered: call('mail.send', {}),
  tool_call_invalid: call('react.nothing', {}),
  tool_signature_red: call('react.read', {}),
  plan_mode: plan({ mode: 'burn' }),
  plan_target_required: plan({ mode: 'close' }),
  plan_steps: plan({ mode: 'new' }),
  plan_target_missing: plan({ mode: 'close', plan_id: 'p' }),
}

/**
 * The first rule that a response breaks when it is read, when its call is checked, or when its plan is changed. Undefined when it breaks
 * none.
 */
function firstViolation(response: ParsedResponse) {
  const reading = readDecision(response)
  if (!reading.ok) return reading.violation
  const { decision } = reading
  if (decision.action !== 'call_tool') return undefined
  if (decision.toolId === 'react.plan') {
    const change = changePlan(emptyTimeline(), decision.params as { [key: string]: string }, { turnId: 't1', ts: '', newId: 'p1' })
    return change.ok ? undefined : change.violation
  }
  const checked = checkCall(decision, tools)
  return checked.ok ? undefined : checked.violation
}

it.each(Object.entries(provocations))('%s can occur, and its notice has a next step', (code, response) => {
  const notice = firstViolation(response)
  expect(notice?.code.split(':')[0]).toBe(`protocol_violation.${code}`)
  expect(notice?.message).toMatch(/\. (Nothing ran|No plan was changed)\. [A-Z].+/)
  expect(JSON.stringify(notice).length).toBeLessThan(4_000)
})

const json = fc.oneof(
  fc.json({ maxDepth: 3 }),
  fc
    .record(
      {
        action: fc.oneof(fc.constantFrom('call_tool', 'complete', 'exit', 'Exit ', 'clarify', ''), fc.jsonValue()),
        notes: fc.oneof(fc.string(), fc.jsonValue()),
        tool_call: fc.oneof(
          fc.record(
            {
              tool_id: fc.oneof(fc.constantFrom(...someTools.ids, 'react.plan', 'toString'), fc.jsonValue()),
              params: fc.oneof(
                fc.dictionary(fc.constantFrom('path', 'content', 'paths', 'contract', 'queries', 'n', '2', '__proto__'), fc.jsonValue()),
                fc.jsonValue(),
              ),
            },
            { requiredKeys: [] },
          ),
          fc.jsonValue(),
        ),
        final_answer: fc.oneof(fc.string(), fc.jsonValue()),
        suggested_followups: fc.oneof(fc.array(fc.string()), fc.jsonValue()),
        questions: fc.jsonValue(),
      },
      { requiredKeys: [] },
    )
    .map((action) => JSON.stringify(action)),
)

const valid = fc
  .oneof(
    fc.record({ action: fc.constantFrom('complete', 'exit'), notes: fc.string(), final_answer: fc.string({ minLength: 1 }) }),
    fc.record({
      action: fc.constant('call_tool'),
      tool_call: fc.oneof(
        fc.record({ tool_id: fc.constant('react.read'), params: fc.record({ paths: fc.array(fc.string()) }) }),
        fc.record({ tool_id: fc.constant('react.write'), params: fc.record({ path: fc.string(), content: fc.string() }) }),
      ),
    }),
  )
  .map((action) => JSON.stringify(action))

/** Removes or replaces a part of a text. */
const mutated = (text: fc.Arbitrary<string>) =>
  fc
    .tuple(text, fc.nat({ max: 150 }), fc.nat({ max: 9 }), fc.constantFrom('', '"', '}', '{', ',', '\\', '```', '\n', '\ud83d', 'x'))
    .map(([whole, at, length, piece]) => whole.slice(0, at) + piece + whole.slice(at + length))
const body = fc.oneof(
  { weight: 1, arbitrary: json },
  { weight: 2, arbitrary: mutated(json) },
  { weight: 2, arbitrary: valid },
  { weight: 3, arbitrary: mutated(valid) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
)
const channel = fc.tuple(fc.constantFrom('thinking', 'action', 'action', 'code', 'answer', 'followup', 'usage'), body)
const preamble = fc.constantFrom('', '', '', '\n', 'Sure')

it('each of 10,000 random and mutated responses gives a decision or a violation, and never throws', () => {
  const counts = { decisions: 0, violations: 0 }
  fc.assert(
    fc.property(
      fc.oneof(
        {
          weight: 3,
          arbitrary: body.map(
            (action) =>
              [
                ['thinking', 'x'],
                ['action', action],
              ] as [string, string][],
          ),
        },
        { weight: 2, arbitrary: fc.array(channel, { maxLength: 4 }).map((rest) => [['thinking', 'x'] as [string, string], ...rest]) },
        { weight: 1, arbitrary: fc.array(channel, { maxLength: 4 }) },
      ),
      preamble,
      fc.constantFrom<ParsedResponse['finishReason']>('stop', 'stop', 'length', 'content_filter', 'error', 'other'),
      fc.option(fc.tuple(fc.nat({ max: 200 }), fc.nat({ max: 30 })), { nil: undefined }),
      (channels, before, finishReason, hole) => {
        const made = responseOf(channels, { preamble: before, finishReason })
        const damaged = hole && before + made.raw.slice(0, hole[0]) + made.raw.slice(hole[0] + hole[1])
        const response = damaged === undefined ? made : parseResponse(damaged, made)
        const notice = firstViolation(response)
        if (notice === undefined) counts.decisions++
        else {
          counts.violations++
          expect(notice.code).toMatch(/^(protocol_violation\.\w+(:.{0,40})?|service_interrupted)$/s)
          expect(notice.message).not.toBe('')
          expect(JSON.stringify(notice).length).toBeLessThan(9_000)
        }
      },
    ),
    { numRuns: 10_000 },
  )
  expect(Math.min(counts.decisions, counts.violations)).toBeGreaterThan(500)
})

it('a snippet is on one line', () => {
  expect(snippet('  two\n\n words ')).toBe('two words')
})
