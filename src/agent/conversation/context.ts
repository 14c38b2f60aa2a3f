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
  /** Reads the entries of the open turn from the store. Only a resumed turn needs them. */
  entriesOfTurn(turnId: string): Promise<TurnEntries>
  /** Aborted when the agent is closed or the lease is lost. After that, nothing more is committed. */
  readonly signal: AbortSignal
}

/** A conversation that this process runs. It has one claim, runs one turn at a time, and keeps its inbox open between turns. */
export interface RunningConversation {
  readonly firstTurnId: string
  /** Set when the message that started the conversation waits in the inbox, because an earlier turn must be finished first. */
  readonly firstEventId: string | undefined
  readonly inbox: Inbox
  readonly results: ResultsByEvent
  /** Resolves when the message or event that started the conversation is in the journal, and can no longer be lost. */
  readonly journaled: Promise<void>
  /** Commits a change that belongs to the conversation, not to a turn. */
  commit(change: Change): Promise<void>
  /** The result of the turn that the conversation was started for. Undefined when no turn was needed. */
  readonly firstResult: Promise<TurnResult | undefined>
  /** Resolves when the first turn, and every turn started by a waiting followup, has ended. */
  readonly finished: Promise<void>
  abort(reason: unknown): void
}

/** Why a conversation is started. */
export type StartReason =
  | { readonly kind: 'message'; readonly input: TurnInput }
  /** An open turn must be resumed, or a turn must be started for a waiting followup. */
  | { readonly kind: 'unfinished' }
  /** An event must be journaled. The next turn reads it. */
  | { readonly kind: 'event'; readonly event: NewEvent }
