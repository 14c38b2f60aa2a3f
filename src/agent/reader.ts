import type { Notice } from '../core/block/index.ts'
import { collectChannels, type ReceivedChannel } from '../core/decision/response.ts'
import type { ChannelEvent } from '../core/stream/channel.ts'
import { createChannelParser } from '../core/stream/channel-parser.ts'
import { createLiveOutput, type LiveOutput } from './model-call/live-output.ts'
import type { ReadOptions } from './model-call/read-response.ts'

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
