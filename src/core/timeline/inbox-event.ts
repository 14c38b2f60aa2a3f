import type { BlobRef } from '../block/block.ts'

/** Messages of users (`followup`, `steer`), feedback on earlier turns, and events of the application (`external`). */
export type MessageKind = 'followup' | 'steer' | 'feedback' | 'external'

/**
 * The kinds of inbox events. Besides messages, these are the answer of a person to a call that needs an approval (`decision`), the late
 * result of a call (`completion`), and the request to withdraw a message (`withdrawal`).
 */
export type InboxEventKind = MessageKind | 'decision' | 'completion' | 'withdrawal'

/** An event in the inbox. It stays there until a turn reads it, or until it is withdrawn or expires. */
export interface InboxEvent {
  readonly event_id: string
  readonly sequence: number
  readonly kind: InboxEventKind
  readonly ts: string
  readonly text: string
  readonly target_turn_id?: string
  readonly payload?: unknown
  /** The blobs that the payload refers to. The store must keep them as long as the entry. */
  readonly keeps?: readonly BlobRef[]
}

/** Whether an inbox event is a message. Messages have a text that the agent and users read. */
export const isMessage = (event: InboxEvent): event is InboxEvent & { readonly kind: MessageKind } => messageKinds.has(event.kind)

const messageKinds: ReadonlySet<InboxEventKind> = new Set<MessageKind>(['followup', 'steer', 'feedback', 'external'])
