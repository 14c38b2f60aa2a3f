import type { ServiceError } from './model-event.ts'
import type { LaneDelta } from './stream/lane.ts'
import type { Change } from './timeline/change.ts'

/**
 * The events of a conversation. An `entry` is durable: it is a row of the journal, and a reader can resume after its `seq`.
 * The other events are sent live only; their content reaches the journal when the round ends.
 */
export type TurnEvent = EntryEvent | LaneEvent | StatusEvent

/** A change that was appended to the journal. */
export interface EntryEvent {
  readonly type: 'entry'
  readonly seq: number
  readonly change: Change
}

/** A piece of the model's output while it streams. An event with a higher `attempt` invalidates the earlier attempts of the same round. */
export interface LaneEvent {
  readonly type: 'lane.delta'
  readonly turn_id: string
  readonly iteration: number
  readonly attempt: number
  readonly delta: LaneDelta
}

/** A change in what the turn is doing. */
export interface StatusEvent {
  readonly type: 'status'
  readonly turn_id: string
  readonly iteration: number
  readonly status: TurnStatus
  readonly tool_id?: string
  readonly call_id?: string
  readonly error?: ServiceError
}

/** What a turn is doing. */
export type TurnStatus = 'deciding' | 'retrying' | 'compacting' | 'tool.started' | 'tool.ended' | 'wrapping_up'

/**
 * A frame of the native event stream over HTTP (`?as=native`). The frames are the SDK's events without internal fields: hosting handles
 * other than `rn`, raw responses, references to bytes. The SSE field `event` is the frame's type. Only entries have an SSE `id`, which is
 * their `seq`.
 */
export type NativeFrame =
  | { readonly type: 'ready'; readonly conversation_id: string; readonly last_seq: number; readonly ts: string }
  | { readonly type: 'entry'; readonly seq: number; readonly change: Change }
  | LaneEvent
  | StatusEvent
  /** Events were dropped because the client read too slowly. The client has to reconnect after the last entry that it has. */
  | { readonly type: 'resync' }
  /** The server shuts down. The client has to reconnect. */
  | { readonly type: 'server_shutdown'; readonly reason: string }

/** The formats in which the server streams events, `?as=…`. */
export type EventFormat = 'chat' | 'native' | 'ag-ui' | 'ui-message'
