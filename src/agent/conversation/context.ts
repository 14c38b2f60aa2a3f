import type { Scope } from '../../core/scope.ts'
import type { Change } from '../../core/timeline/change.ts'
import type { Records } from '../../tools/tool.ts'
import type { LiveFeed } from '../events/event-hub.ts'
import type { TurnResult } from '../turn/finish.ts'
import type { TurnInput } from '../turn/start.ts'
import type { TurnEntries } from './history.ts'
import type { Inbox, NewEvent } from './inbox.ts'
import type { Ledger } from './ledger.ts'
import type { Renderers } from './renderers.ts'
import type { ResultsByEvent } from './results.ts'
import type { Spending } from './spending.ts'

/** What the turns of one running conversation share. */
export interface ConversationContext {
  readonly conversationId: string
  /** Tenant, project and user that own the conversation. */
  readonly scope: Scope
  readonly ledger: Ledger
  readonly inbox: Inbox
  readonly live: LiveFeed
  readonly renderers: Renderers
  /** Undefined when the agent has no prices. */
  readonly spending: Spending | undefined
  readonly records: Records
  /** The journal of the latest turn so far, read from the store. Only a resumed turn needs it. */
  entriesOfTurn(turnId: string): Promise<TurnEntries>
  /** Aborted when the agent is closed or the lease is lost. After that, nothing more is committed. */
  readonly signal: AbortSignal
}

/** A conversation with work to do: one claim, one turn at a time, and an inbox that stays open across turns. */
export interface RunningConversation {
  readonly firstTurnId: string
  readonly inbox: Inbox
  readonly results: ResultsByEvent
  /** Resolves when the message or event that started the conversation is in the journal, and can no longer be lost. */
  readonly journaled: Promise<void>
  /** Commits a change that belongs to the conversation, not to a turn. */
  commit(change: Change): Promise<void>
  /** The result of the turn that the conversation was started for; undefined when no turn was needed. */
  readonly firstResult: Promise<TurnResult | undefined>
  /** Resolves when the first turn, and every turn started by a waiting followup, has ended. */
  readonly finished: Promise<void>
  abort(reason: unknown): void
}

/** Why a conversation is started. */
export type StartReason =
  | { readonly kind: 'message'; readonly input: TurnInput }
  /** The conversation has an open turn to resume, or a waiting followup to start a turn for. */
  | { readonly kind: 'unfinished' }
  /** An event is to be journaled. It waits for the next turn. */
  | { readonly kind: 'event'; readonly event: NewEvent }
