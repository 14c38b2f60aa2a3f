import type { Notice } from '../core/block/index.ts'
import { gatherChannels, type ReceivedChannel } from '../core/decision/response.ts'
import type { ChannelEvent } from '../core/stream/channel.ts'
import { createChannelParser } from '../core/stream/channel-parser.ts'
import type { Listening } from './listen.ts'
import { createShowing, type Showing } from './showing.ts'

/** Cuts a response into channels while it is written, and has it shown. */
export interface Reader {
  /** All that was written, and the latest piece of it: what has come since it was last called. */
  readTo(raw: string, latest?: string): void
  /** Nothing more comes. */
  end(how: Parameters<Showing['end']>[0]): void
  readonly showing: Showing
  channels(): readonly ReceivedChannel[]
  readonly preamble: string
  /** The rule it broke from its first words on: nothing of it is read, so nothing of it is shown, however it was cut. */
  readonly violation: Notice | undefined
}

export function createReader({ channels, watch, createLanes, emit }: Listening): Reader {
  const parser = createChannelParser(channels)
  const showing = createShowing(createLanes, emit)
  const heard: ChannelEvent[] = []
  let written = ''
  let over = false
  let violation: Notice | undefined

  function take(events: readonly ChannelEvent[]): void {
    if (!watch.begun) violation ??= watch.step(events, parser, written)
    if (violation) return
    for (const event of events) heard.push(event)
    showing.take(events)
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
    showing,
    channels: () => gatherChannels(heard),
    get preamble() {
      return parser.preamble
    },
    get violation() {
      return violation
    },
  }
}
