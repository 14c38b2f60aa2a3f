import type { ChannelEvent } from '../../src/core/stream/channel.ts'
import type { CreateReplacer, LaneDelta, LaneEnd } from '../../src/core/stream/lane.ts'
import { createLanes } from '../../src/core/stream/lanes.ts'

/** A replacer of citations whose output shows the format with which it was created. */
const marking = (format: string) => ({
  push: (text: string) => text.replaceAll('§', `<${format}>`),
  flush: () => '',
  used: [],
  cut: () => ({ rest: '', dropped: 0 }),
  unresolved: [],
  usage: [],
})

const mimeOf = (filename: string) => (filename.endsWith('.csv') ? 'text/csv' : 'application/octet-stream')

type Stop = LaneEnd | 'interrupted'
export type Cut = (text: string) => readonly string[]

/**
 * Shows a response in lanes. The response is a list: channel, text, channel, text, … The last channel is closed only if the response is
 * complete.
 */
export function showCut(response: readonly string[], stop: Stop, cut: Cut, replacer: CreateReplacer = marking) {
  const isInternalFile = (path: string) => path.includes('internal')
  const lanes = createLanes({ iteration: 2, executionId: 'exec_1', replacer, mimeOf, isInternalFile })
  const instances = new Map<string, number>()
  const events: ChannelEvent[] = []
  for (let i = 0; i < response.length; i += 2) {
    const channel = response[i] as string
    const instance = instances.get(channel) ?? 0
    instances.set(channel, instance + 1)
    events.push({ type: 'channel.start', channel, instance })
    for (const text of cut(response[i + 1] as string)) events.push({ type: 'channel.delta', channel, instance, text })
    events.push({ type: 'channel.end', channel, instance, closed: i === response.length - 2 && stop !== 'whole' ? 'cut' : 'tag' })
  }
  const live = events.map((event) => lanes.push(event))
  const last = stop === 'interrupted' ? lanes.abort() : lanes.end(stop)
  return { live, last, all: [...live.flat(), ...last], answer: lanes.answer() }
}

export const showUntil = (stop: Stop, ...response: readonly string[]) => showCut(response, stop, (text) => [text])
export const show = (...response: readonly string[]) => showUntil('whole', ...response)

/** The state of a lane after all its deltas. */
interface ShownLane {
  readonly lane: string
  readonly format: string
  text: string
  end: 'whole' | 'aborted' | 'open'
}

export function lanesOf(deltas: readonly LaneDelta[]): readonly ShownLane[] {
  const lanes = new Map<string, ShownLane & { index: number }>()
  for (const { marker, artifact_name, format, index, text, completed, aborted } of deltas) {
    const lane = artifact_name === undefined ? marker : `${marker} ${artifact_name}`
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

export const call = (toolId: string, params: unknown, notes = '') =>
  JSON.stringify({ action: 'call_tool', notes, tool_call: { tool_id: toolId, params }, final_answer: null })
export const complete = '{"action":"complete"}'
export const answerLane = (text: string, end: ShownLane['end'] = 'whole') => ({
  lane: 'answer react.final_answer.2',
  format: 'markdown',
  text,
  end,
})
