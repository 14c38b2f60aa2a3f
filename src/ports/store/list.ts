import type { Wait } from '../../core/timeline/change.ts'
import type { Parked } from './work-list.ts'

/** Which conversations `list` returns. */
export interface ListQuery {
  readonly limit?: number
  /** The `next` of the previous page. */
  readonly cursor?: string
  /** Only conversations whose title contains this text. The comparison ignores case. */
  readonly search?: string
  /** Only conversations whose id begins with this text. */
  readonly prefix?: string
  /** Only conversations whose id has no slash. */
  readonly plain?: true
  /** Only conversations that no call of another conversation has opened for a sub-agent (`isChildKey`). */
  readonly top?: true
  /** Only conversations that a call of another conversation has opened for a sub-agent. */
  readonly children?: true
  /**
   * Only conversations with work that can be done now: a turn is open, a followup waits to start a turn, or an offer was not taken. An open
   * turn that waits for a person or a late result is not work until something arrives for it or `dueAt` is reached.
   */
  readonly open?: true
  /** Only conversations whose open turn waits for something. */
  readonly waits?: true
  /** Only conversations that are parked. */
  readonly parked?: true
}

/** What `list` returns for each conversation. */
export interface ConversationInfo {
  readonly conversationId: string
  readonly title: string | null
  readonly startedAt: string | null
  readonly lastActivityAt: string | null
  readonly lastSeq: number
  readonly openTurn: string | null
  /**
   * The event ids of followups that were accepted but are not yet part of a turn, oldest first. The list may contain an event that a turn
   * has already read, if this event was delivered a second time. The timeline shows which events a turn has read.
   */
  readonly waiting: readonly string[]
  /** What the open turn waits for, such as the approval of a person. Empty when it waits for nothing. */
  readonly waits: readonly Wait[]
  /**
   * The time from which an open turn that waits has work. It is the time at which its first wait expires, or at which something arrived for
   * it. Null when the turn does not wait, or when it waits without a time limit.
   */
  readonly dueAt: string | null
  /** How many offers were not taken. */
  readonly offers: number
  /** Set when the turns of the conversation failed so often that they are not tried any more. */
  readonly parked?: Parked
}

/** A page of the list of conversations. `next` is the cursor of the following page, and undefined on the last page. */
export interface ConversationPage {
  readonly conversations: readonly ConversationInfo[]
  readonly next?: string
}
