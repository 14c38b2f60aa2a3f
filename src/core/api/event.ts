import type { LaneEvent, StatusEvent } from '../event.ts'
import type { Change } from '../timeline/change.ts'

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
