import type { ServiceError } from './model-event.ts'
import type { LaneDelta } from './stream/lane.ts'
import type { Change } from './timeline/change.ts'

/**
 * An event of a conversation. An `entry` is a row of the journal. A reader that reconnects asks for the entries after the `seq` of the last
 * entry that it has. Lane and status events are not stored and are sent only while the turn runs. The text of the lane events of a round is
 * in the journal when the round has ended.
 */
export type TurnEvent = EntryEvent | LaneEvent | StatusEvent

/** A change that was appended to the journal. */
export interface EntryEvent {
  readonly type: 'entry'
  readonly seq: number
  readonly change: Change
}

/**
 * A piece of the model's output, sent while the model writes. If a call is repeated, its text begins anew: with a higher `attempt` if the
 * same process repeats the call, and with the same `attempt` if another process resumes the turn after a crash. So a piece whose
 * `delta.index` is 0 replaces everything that its lane showed before in this round.
 */
export interface LaneEvent {
  readonly type: 'lane.delta'
  readonly turn_id: string
  readonly iteration: number
  readonly attempt: number
  readonly delta: LaneDelta
}

/** Tells what the turn is doing now. */
export interface StatusEvent {
  readonly type: 'status'
  readonly turn_id: string
  readonly iteration: number
  readonly status: TurnStatus
  readonly tool_id?: string
  readonly call_id?: string
  /** What the tool does now, in one line for users. Set only when `status` is `tool.progress`. Each text replaces the previous one. */
  readonly text?: string
  readonly error?: ServiceError
}

/** What a running turn is doing. */
export type TurnStatus = 'deciding' | 'retrying' | 'compacting' | 'tool.started' | 'tool.progress' | 'tool.ended' | 'wrapping_up'

/**
 * One message of the event stream in the format `native` (`?as=native`). Entries, lane events and status events have the same form as in
 * the SDK, but some internal fields are removed: raw responses, references to further blobs (`keeps`), and storage addresses of hosted
 * files. A hosted file has only its `rn`. The file can be downloaded from `/v1/resources/<rn>`. The SSE field `event` is the type of the
 * message. Only entries have an SSE `id`, which is their `seq`.
 */
export type NativeFrame =
  | { readonly type: 'ready'; readonly conversation_id: string; readonly last_seq: number; readonly ts: string }
  | { readonly type: 'entry'; readonly seq: number; readonly change: Change }
  | LaneEvent
  | StatusEvent
  /**
   * Events were dropped because the client read too slowly. The client has to reconnect and ask for the entries after the last one that it
   * has.
   */
  | { readonly type: 'resync' }
  /** The server is shutting down. The client has to reconnect. */
  | { readonly type: 'server_shutdown'; readonly reason: string }

/** The formats in which the server streams events. A client chooses one with `?as=…`. */
export type EventFormat = 'chat' | 'native' | 'ag-ui' | 'ui-message'
