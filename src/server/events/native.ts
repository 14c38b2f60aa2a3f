import type { NativeFrame, TurnEvent } from '../../core/event.ts'
import type { Format, Frame } from './format.ts'
import { publicEntry } from './public-change.ts'

/** Events as the SDK yields them, without what is not for clients. */
export function createNativeFormat(): Format {
  return {
    openingFrames: ({ conversationId, lastSeq, ts }) => [framed({ type: 'ready', conversation_id: conversationId, last_seq: lastSeq, ts })],
    framesOf: (event) => [nativeFrame(event)],
    closingFrames(why) {
      if (why === 'resync') return [framed({ type: 'resync' })]
      return why === 'shutdown' ? [framed({ type: 'server_shutdown', reason: 'draining' })] : []
    },
  }
}

const framed = (data: NativeFrame): Frame => ({ event: data.type, data })

const frames = new WeakMap<TurnEvent, Frame>()

/** Every follower is told the same: it is put into words once. */
function nativeFrame(event: TurnEvent): Frame {
  let frame = frames.get(event)
  if (frame === undefined) {
    frame = event.type === 'entry' ? { id: event.seq, ...framed(publicEntry(event)) } : framed(event)
    frames.set(event, frame)
  }
  return frame
}
