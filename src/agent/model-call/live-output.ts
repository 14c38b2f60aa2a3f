import type { Notice } from '../../core/block/index.ts'
import { createCitationRewriter } from '../../core/citations/replace.ts'
import { collectChannels, type ReceivedChannel } from '../../core/decision/decision.ts'
import { createEarlyCheck } from '../../core/decision/early-check.ts'
import type { LaneEvent } from '../../core/event.ts'
import { sourcesBySid } from '../../core/sources/pool.ts'
import type { ChannelEvent } from '../../core/stream/channel.ts'
import { createChannelParser } from '../../core/stream/channel-parser.ts'
import type { LaneDelta, LaneEnd } from '../../core/stream/lane.ts'
import type { DeliveredAnswer, Lanes } from '../../core/stream/lanes.ts'
import type { Turn } from '../turn/turn.ts'
import type { ReadOptions } from './model-response.ts'

/**
 * The output of a response in lanes, for clients that watch the turn. `add` only collects the events of the response. The lanes are made
 * later, when `catchUp` or one of the functions after it is called. While a client watches, `catchUp` is called after each piece of the
 * response. Otherwise it is called when a client joins. The lanes are the same in all cases.
 */
export interface LiveOutput<Event = unknown> {
  /** Adds events of the response, without emitting them. */
  add(events: readonly Event[]): void
  /**
   * Called at the end of the response. `whole`: the model ended the response. `aborted`: the response reached the output limit. `cut`: the
   * stream broke off.
   */
  end(how: LaneEnd): void
  /** Emits the output of all events that were added and not emitted yet. */
  catchUp(): void
  /** Whether any text was shown to users. Calls `catchUp` first. */
  showedAnything(): boolean
  /** Whether text other than the thinking was shown to users. Calls `catchUp` first. */
  showedContent(): boolean
  /** The answer as it was shown to users. Calls `catchUp` first. */
  answer(): DeliveredAnswer | undefined
}

export function createLiveOutput<Event>(createLanes: () => Lanes<Event>, emit: (delta: LaneEvent['delta']) => void): LiveOutput<Event> {
  const added: Event[] = []
  let lanes: Lanes<Event> | undefined
  let next = 0
  let ending: LaneEnd | undefined
  let showedAnything = false
  let showedContent = false

  function show(deltas: ReturnType<Lanes<Event>['push']>) {
    for (const delta of deltas) {
      showedAnything ||= delta.text !== ''
      showedContent ||= delta.text !== '' && delta.marker !== 'thinking'
      emit(delta)
    }
  }

  function catchUp(): Lanes<Event> {
    lanes ??= createLanes()
    while (next < added.length) show(lanes.push(added[next++] as Event))
    const how = ending
    ending = undefined
    if (how !== undefined) show(how === 'cut' ? lanes.abort() : lanes.end(how))
    return lanes
  }

  return {
    add(events) {
      for (const event of events) added.push(event)
    },
    end(how) {
      ending = how
    },
    catchUp: () => void catchUp(),
    showedAnything() {
      catchUp()
      return showedAnything
    },
    showedContent() {
      catchUp()
      return showedContent
    },
    answer: () => catchUp().answer(),
  }
}

/** Splits a response into channels while the model writes it, for the live output and for the decision. */
export interface ChannelReader {
  /** Reads the new text in `raw`, which is the whole text received so far. `latest` is the last received piece, if the caller knows it. */
  readTo(raw: string, latest?: string): void
  end(how: LaneEnd): void
  readonly liveOutput: LiveOutput<ChannelEvent>
  channels(): readonly ReceivedChannel[]
  /** The text before the first channel. */
  preamble(): string
  /** The rule that the start of the response broke. If it is set, no part of the response is shown. */
  readonly violation: Notice | undefined
  /** Whether it is known if the start of the response breaks a rule. */
  hasCheckedStart(): boolean
}

export function createChannelReader({ channels, acceptsPlainText, createLanes, emit }: ReadOptions): ChannelReader {
  const parser = createChannelParser(channels)
  const earlyCheck = createEarlyCheck(acceptsPlainText)
  const liveOutput = createLiveOutput(createLanes, emit)
  const received: ChannelEvent[] = []
  let read = ''
  let ended = false

  function receive(events: readonly ChannelEvent[]): void {
    if (!earlyCheck.isDone()) self.violation ??= earlyCheck.check(events, parser, read)
    if (self.violation) return
    for (const event of events) received.push(event)
    liveOutput.add(events)
  }

  const self = {
    readTo(raw: string, latest = '') {
      const before = read.length
      if (before === raw.length) return
      read = raw
      receive(parser.push(before + latest.length === raw.length ? latest : raw.slice(before)))
    },
    end(how: LaneEnd) {
      if (ended) return
      ended = true
      const rest = parser.end()
      if (how === 'cut')
        // The stream broke off, so the last text may be the beginning of a tag. This text is neither shown nor checked.
        for (const event of rest) received.push(event)
      else receive(rest)
      liveOutput.end(how)
    },
    liveOutput,
    channels: () => collectChannels(received),
    preamble: () => parser.preamble,
    violation: undefined as Notice | undefined,
    hasCheckedStart: earlyCheck.isDone,
  }
  return self
}

/**
 * Emits an answer that was not streamed, with its citations rendered. If a round has several attempts, clients show the one with the
 * highest number.
 */
export function emitAnswer({ turnId, conversation }: Turn, iteration: number, answer: string, attempt = 0): void {
  const sources = () => sourcesBySid(conversation.ledger.timeline.sources)
  const replacer = createCitationRewriter({ format: 'markdown', sources, stripUsage: true, keepUnresolved: false })
  const text = replacer.push(answer) + replacer.flush()
  const lane = { marker: 'answer', artifact_name: `react.final_answer.${iteration}`, format: 'markdown' as const }
  const deltas: readonly LaneDelta[] = [
    { ...lane, index: 0, text, completed: false },
    { ...lane, index: 1, text: '', completed: true },
  ]
  for (const delta of deltas) conversation.live.emit({ type: 'lane.delta', turn_id: turnId, iteration, attempt, delta })
}
