import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { responseOf } from '../../../test/support/decisions/responses.ts'
import { createCitationRewriter } from '../citations/replace.ts'
import { createLanes } from '../stream/lanes.ts'
import { salvageAnswer } from './fallback-answer.ts'
import { readDecision } from './read.ts'

/** The only known source has the SID 1. */
const sources = new Map([[1, { title: 'One', url: 'https://one.example/' }]])
const isSource = (sid: number) => sources.has(sid)
const replacer = () => createCitationRewriter({ format: 'markdown', sources: () => sources, stripUsage: true, keepUnresolved: false })

type Channels = readonly (readonly [string, string])[]

/** The answer that was shown to the user, as the model wrote it. */
function shownAnswer(channels: Channels, finishReason: 'stop' | 'length'): string | undefined {
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
  fc.constantFrom(
    'plain',
    'fence',
    'prose',
    'comma',
    'truncated',
    'twice',
    'quotes',
    'repeated',
    'otherwise',
    'second call',
    'second object',
  ),
)
const action = spelling.map(([json, how]) => {
  switch (how) {
    case 'fence':
      return `\`\`\`json ${json} \`\`\``
    case 'prose':
      return `Here it is: ${json} Done.`
    case 'comma':
      return json.replace(/}$/, ',}')
    case 'truncated':
      return json.slice(0, -1)
    case 'twice':
      return `${json}\n${json}`
    case 'repeated':
      return json.replace(/}$/, `,${json.slice(1)}`)
    case 'otherwise':
      return json.replace(/}$/, ',"action":"exit"}')
    case 'second call':
      return json.replace(/}$/, ',"tool_call":{"tool_id":"react.read","params":{}}}')
    case 'second object':
      return `${json} {"action":"call_tool","tool_call":{"tool_id":"react.read","params":{}}}`
    case 'quotes':
      return json.replaceAll('\\"', '"')
    default:
      return json
  }
})
const one = (name: string, body: fc.Arbitrary<string>) => body.map((written): readonly [string, string] => [name, written])
const responses = fc.tuple(
  fc.array(one('action', action), { maxLength: 2 }),
  fc.array(one('answer', text), { maxLength: 2 }),
  fc.array(one('code', fc.constantFrom('', 'print(1)')), { maxLength: 1 }),
)

describe('lanes and decision', () => {
  it('loop 17.65: agree on the answer: one that was shown ends the turn, and no other does', () => {
    const reached = { read: 0, salvaged: 0, unseen: 0 }
    fc.assert(
      fc.property(responses, fc.constantFrom('stop' as const, 'length' as const), ([actions, answers, code], finishReason) => {
        const channels: Channels = [['thinking', 'x'], ...actions, ...code, ...answers]
        const delivered = shownAnswer(channels, finishReason)
        const reading = readDecision(responseOf(channels, { finishReason }), { isSource })
        if (!reading.ok) {
          const salvaged = salvageAnswer({ delivered, violation: reading.violation, cut: finishReason === 'length' })
          expect(salvaged?.answer).toBe(delivered?.trim() ? delivered.trimEnd() : undefined)
          if (salvaged) reached.salvaged++
        } else if (reading.decision.action === 'call_tool') {
          expect(delivered).toBeUndefined()
          reached.unseen++
        } else {
          expect(reading.decision.answer.trim()).toBe(delivered?.trim())
          reached.read++
        }
      }),
      { numRuns: 6000 },
    )
    expect(Math.min(...Object.values(reached))).toBeGreaterThan(20)
  })
})
