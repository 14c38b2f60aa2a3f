import type { Notice } from '../../core/block/index.ts'
import { createCitationRewriter } from '../../core/citations/replace.ts'
import { collectChannels, type ReceivedChannel } from '../../core/decision/response.ts'
import type { LaneEvent } from '../../core/event.ts'
import { sourcesBySid } from '../../core/sources/pool.ts'
import type { ChannelEvent } from '../../core/stream/channel.ts'
import { createChannelParser } from '../../core/stream/channel-parser.ts'
import type { LaneDelta } from '../../core/stream/lane.ts'
import type { DeliveredAnswer, Lanes } from '../../core/stream/lanes.ts'
import type { Turn } from '../turn/turn.ts'
import type { ReadOptions } from './read-response.ts'

/**
 * What a person may watch of a response, made when it is asked for: at once while somebody watches, later when somebody joins, and
 * never when nobody does. What was shown does not depend on who was there.
 */
export interface LiveOutput {
  /** More was read; it is not shown yet. */
  add(events: readonly ChannelEvent[]): void
  /** Nothing more comes. Cut: it did not come to an end of its own. */
  end(how: 'whole' | 'aborted' | 'cut'): void
  /** Shows what was read and not shown. */
  catchUp(): void
  /** These ask for it, too. */
  showedAnything(): boolean
  showedContent(): boolean
  answer(): DeliveredAnswer | undefined
}

export function createLiveOutput(createLanes: () => Lanes, emit: (delta: LaneEvent['delta']) => void): LiveOutput {
  const read: ChannelEvent[] = []
  let lanes: Lanes | undefined
  let next = 0
  let ending: Parameters<LiveOutput['end']>[0] | undefined
  let shown = false
  let spoken = false

  function show(deltas: ReturnType<Lanes['push']>) {
    for (const delta of deltas) {
      shown ||= delta.text !== ''
      spoken ||= delta.text !== '' && delta.marker !== 'thinking'
      emit(delta)
    }
  }

  function caughtUp(): Lanes {
    lanes ??= createLanes()
    while (next < read.length) show(lanes.push(read[next++] as ChannelEvent))
    const how = ending
    ending = undefined
    if (how !== undefined) show(how === 'cut' ? lanes.abort() : lanes.end(how))
    return lanes
  }

  return {
    add(events) {
      for (const event of events) read.push(event)
    },
    end(how) {
      ending = how
    },
    catchUp: () => void caughtUp(),
    showedAnything() {
      caughtUp()
      return shown
    },
    showedContent() {
      caughtUp()
      return spoken
    },
    answer: () => caughtUp().answer(),
  }
}

/** Cuts a response into channels while it is written, and has it shown. */
export interface ChannelReader {
  /** All that was written, and the latest piece of it: what has come since it was last called. */
  readTo(raw: string, latest?: string): void
  /** Nothing more comes. */
  end(how: Parameters<LiveOutput['end']>[0]): void
  readonly liveOutput: LiveOutput
  channels(): readonly ReceivedChannel[]
  readonly preamble: string
  /** The rule it broke from its first words on: nothing of it is read, so nothing of it is shown, however it was cut. */
  readonly violation: Notice | undefined
}

export function createChannelReader({ channels, earlyCheck: watch, createLanes, emit }: ReadOptions): ChannelReader {
  const parser = createChannelParser(channels)
  const showing = createLiveOutput(createLanes, emit)
  const heard: ChannelEvent[] = []
  let written = ''
  let over = false
  let violation: Notice | undefined

  function take(events: readonly ChannelEvent[]): void {
    if (!watch.done) violation ??= watch.check(events, parser, written)
    if (violation) return
    for (const event of events) heard.push(event)
    showing.add(events)
  }

  return {
    readTo(raw, latest = '') {
      const taken = written.length
      if (taken === raw.length) return
      written = raw
      take(parser.push(taken + latest.length === raw.length ? latest : raw.slice(taken)))
    },
    end(how) {
      if (over) return
      over = true
      take(parser.end())
      showing.end(how)
    },
    liveOutput: showing,
    channels: () => collectChannels(heard),
    get preamble() {
      return parser.preamble
    },
    get violation() {
      return violation
    },
  }
}

/** An answer that no lane has shown: said at once, with its citations drawn. Of the attempts at a round the highest counts. */
export function emitAnswer(turn: Turn, iteration: number, answer: string, attempt = 0): void {
  const sources = () => sourcesBySid(turn.ledger.timeline.sources)
  const replacer = createCitationRewriter({ format: 'markdown', sources, stripUsage: true, keepUnresolved: false })
  const text = replacer.push(answer) + replacer.flush()
  const lane = { marker: 'answer', artifactName: `react.final_answer.${iteration}`, format: 'markdown' as const }
  const deltas: readonly LaneDelta[] = [
    { ...lane, index: 0, text, completed: false },
    { ...lane, index: 1, text: '', completed: true },
  ]
  for (const delta of deltas) turn.emit({ type: 'lane.delta', turn_id: turn.turnId, iteration, attempt, delta })
}
