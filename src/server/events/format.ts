import type { TurnEvent } from '../../core/event.ts'
import type { Frame } from './frame.ts'

/** A way to tell events. One is made per follower: some formats must remember what they have said. */
export interface Format {
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
  openingFrames(opening: StreamStart): readonly Frame[]
  framesOf(event: TurnEvent): readonly Frame[]
  /** The stream ends after this event. Formats that know only one turn say so; the others go on. */
  endsAfter?(event: TurnEvent): boolean
  /** Before the stream ends: too slow, or the server goes down. Nothing is said when the follower has left. */
  closingFrames(why: 'resync' | 'shutdown' | 'over'): readonly Frame[]
}

export interface StreamStart {
  readonly conversationId: string
  readonly lastSeq: number
  readonly ts: string
}
