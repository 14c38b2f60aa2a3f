import type { LaneEvent } from '../../core/event.ts'
import type { ChannelEvent } from '../../core/stream/channel.ts'
import type { DeliveredAnswer, Lanes } from '../../core/stream/lanes.ts'

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
