import type { ServiceError } from './model-event.ts'
import type { LaneDelta } from './stream/lane.ts'
import type { Change } from './timeline/change.ts'

/**
 * What whoever follows a conversation is told. Entries are durable: each is a row of the journal, and its `seq` says where a
 * reader may resume. The others live only while they happen, and nothing is lost with them: what they showed is entered in the end.
 */
export type TurnEvent = EntryEvent | LaneEvent | StatusEvent

export interface EntryEvent {
  readonly type: 'entry'
  readonly seq: number
  readonly change: Change
}

/** A piece of what the model is writing. A higher attempt withdraws what an earlier one showed in the same round. */
export interface LaneEvent {
  readonly type: 'lane.delta'
  readonly turn_id: string
  readonly iteration: number
  readonly attempt: number
  readonly delta: LaneDelta
}

export interface StatusEvent {
  readonly type: 'status'
  readonly turn_id: string
  readonly iteration: number
  readonly status: TurnStatus
  readonly tool_id?: string
  readonly call_id?: string
  readonly error?: ServiceError
}

export type TurnStatus = 'deciding' | 'retrying' | 'compacting' | 'tool.started' | 'tool.ended' | 'wrapping_up'

/**
 * The native event stream, `?as=native`: what the SDK yields, without what is not for clients (hosting handles other than `rn`, raw
 * responses, kept bytes). SSE `event:` is the frame's type; `id:` is `seq`, on entries only.
 */
export type NativeFrame =
  | { readonly type: 'ready'; readonly conversation_id: string; readonly last_seq: number; readonly ts: string }
  | { readonly type: 'entry'; readonly seq: number; readonly change: Change }
  | LaneEvent
  | StatusEvent
  /** Too slow to be told everything: come again from the last entry you have. */
  | { readonly type: 'resync' }
  /** Come again: somebody will be there. */
  | { readonly type: 'server_shutdown'; readonly reason: string }

export type EventFormat = 'chat' | 'native' | 'ag-ui' | 'ui-message'
