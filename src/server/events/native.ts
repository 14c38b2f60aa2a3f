import type { NativeFrame, TurnEvent } from '../../core/event.ts'
import { type Format, type Frame, shutdownRetryMs } from './format.ts'
import { publicEntry } from './public-change.ts'

/** The native format. It sends the events of the SDK as JSON. `publicEntry` removes the fields that clients must not or need not see. */
export function createNativeFormat(): Format {
  return {
    openingFrames: ({ conversationId, lastSeq, ts }) => [
      toFrame({ type: 'ready', conversation_id: conversationId, last_seq: lastSeq, ts }),
    ],
    framesOf: (event) => [nativeFrame(event)],
    closingFrames(reason) {
      if (reason === 'resync') return [toFrame({ type: 'resync' })]
      return reason === 'shutdown' ? [{ ...toFrame({ type: 'server_shutdown', reason: 'draining' }), retry: shutdownRetryMs }] : []
    },
  }
}

const toFrame = (data: NativeFrame): Frame => ({ event: data.type, data })

const frames = new WeakMap<TurnEvent, Frame>()

/** The frame of an event. It is cached, because all followers of a conversation get the same frame. */
function nativeFrame(event: TurnEvent): Frame {
  let frame = frames.get(event)
  if (frame === undefined) {
    frame = event.type === 'entry' ? { id: event.seq, ...toFrame(publicEntry(event)) } : toFrame(event)
    frames.set(event, frame)
  }
  return frame
}
