import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { responseOf } from '../../../test/support/decisions/responses.ts'
import { createCitationRewriter } from '../citations/replace.ts'
import { createLanes } from '../stream/lanes.ts'
import { salvageAnswer } from './limits.ts'
import { readDecision } from './read.ts'

/** There is one source: S:1. */
const sources = new Map([[1, { title: 'One', url: 'https://one.example/' }]])
const isSource = (sid: number) => sources.has(sid)
const replacer = () => createCitationRewriter({ format: 'markdown', sources: () => sources, stripUsage: true, keepUnresolved: false })

type Said = readonly (readonly [string, string])[]

/** What the user has seen of an answer, as the model wrote it. */
function shownAnswer(channels: Said, finishReason: 'stop' | 'length'): string | undefined {
  const lanes = createLanes({ iteration: 0, executionId: 'x', replacer, mimeOf: () => 'text/plain' })
  const instances = new Map<string, number>()
  channels.forEach(([channel, text], index) => {
    const instance = instances.get(channel) ?? 0
    instances.set(channel, instance + 1)
    const closed = finishReason === 'length' && index === channels.length - 1 ? ('cut' as const) : ('tag' as const)
    lanes.push({ type: 'channel.start', channel, instance })
    lanes.push({ type: 'channel.delta', channel, instance, text })
    lanes.push({ type: 'channel.end', channel, instance, closed })
  })
  lanes.end(finishReason === 'stop' ? 'whole' : 'aborted')
  return lanes.answer()?.text
}

const text = fc.constantFrom(
  'A',
  ' \n',
  'He said "hi", then left.',
  'x\n\ny',
  '',
  '[[S:1]]',
  ' [[S:9]]',
  '[[S:8,9]]\n[[USAGE:1]]',
  'Y [[S:9]]',
)
const call = fc.constant({ action: 'call_tool', tool_call: { tool_id: 'react.read', params: {} } })
const field = fc.record(
  {
    action: fc.constantFrom('complete', 'exit', 'Complete ', 'call_tool', 'other'),
    notes: text,
    tool_call: fc.constantFrom(null, {}, { tool_id: 'react.read', params: { paths: [] } }),
    final_answer: text,
  },
  { requiredKeys: ['action'] },
)
const spelling = fc.tuple(
  fc.oneof({ weight: 4, arbitrary: field }, { weight: 1, arbitrary: call }).map((action) => JSON.stringify(action)),
  fc.constantFrom('plain', 'fence', 'prose', 'comma', 'torn', 'twice', 'quotes'),
)
const action = spelling.map(([json, how]) => {
  switch (how) {
    case 'fence':
      return `\`\`\`json ${json} \`\`\``
    case 'prose':
      return `Here it is: ${json} Done.`
    case 'comma':
      return json.replace(/}$/, ',}')
    case 'torn':
      return json.slice(0, -1)
    case 'twice':
      return `${json}\n${json}`
    case 'quotes':
      return json.replaceAll('\\"', '"')
    default:
      return json
  }
})
const one = (name: string, body: fc.Arbitrary<string>) => body.map((said): readonly [string, string] => [name, said])
const responses = fc.tuple(
  fc.array(one('action', action), { maxLength: 2 }),
  fc.array(one('answer', text), { maxLength: 2 }),
  fc.array(one('code', fc.constantFrom('', 'print(1)')), { maxLength: 1 }),
)

describe('what the user saw and what was decided', () => {
  it('loop 17.65: agree: an answer that was shown ends the turn, and no other answer does', () => {
    const met = { read: 0, salvaged: 0, unseen: 0 }
    fc.assert(
      fc.property(responses, fc.constantFrom('stop' as const, 'length' as const), ([actions, answers, code], finishReason) => {
        const channels: Said = [['thinking', 'x'], ...actions, ...code, ...answers]
        const delivered = shownAnswer(channels, finishReason)
        const reading = readDecision(responseOf(channels, { finishReason }), { isSource })
        if (!reading.ok) {
          const kept = salvageAnswer({ delivered, violation: reading.violation, cut: finishReason === 'length' })
          expect(kept?.answer).toBe(delivered?.trim() ? delivered.trimEnd() : undefined)
          if (kept) met.salvaged++
        } else if (reading.decision.action === 'call_tool') {
          expect(delivered).toBeUndefined()
          met.unseen++
        } else {
          expect(reading.decision.answer.trim()).toBe(delivered?.trim())
          met.read++
        }
      }),
      { numRuns: 2000 },
    )
    expect(Math.min(...Object.values(met))).toBeGreaterThan(20)
  })
})
