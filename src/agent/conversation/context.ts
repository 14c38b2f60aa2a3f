import type { BlobRef } from '../../core/block/index.ts'
import type { Scope } from '../../core/scope.ts'
import type { Change } from '../../core/timeline/change.ts'
import type { BlobStore } from '../../ports/blobs.ts'
import type { Claim } from '../../ports/store.ts'
import type { Records } from '../../tools/tool.ts'
import type { AgentContext } from '../agent-context.ts'
import type { CallBudgets } from '../budgets/call-budgets.ts'
import type { LiveFeed } from '../events/event-hub.ts'
import type { TurnResult } from '../turn/result.ts'
import type { TurnInput } from '../turn/start.ts'
import type { WorkspaceHandle } from '../workspace/workspace.ts'
import type { TurnEntries } from './history.ts'
import type { Inbox, NewEvent } from './inbox.ts'
import type { KeptTimelines } from './kept-timelines.ts'
import type { Ledger } from './ledger.ts'
import type { PutBlobs } from './put-blobs.ts'
import type { Renderers } from './renderers.ts'
import type { ResultsByEvent } from './results.ts'
import type { Spending } from './spending.ts'

/** The objects that the turns of one running conversation share. */
export interface ConversationContext {
  readonly conversationId: string
  /** The tenant, project and user to whom the conversation belongs. */
  readonly scope: Scope
  readonly ledger: Ledger
  readonly inbox: Inbox
  readonly live: LiveFeed
  readonly renderers: Renderers
  readonly spending: Spending
  /** The budgets that the conversation shares with others. Undefined when no budget has limits. */
  readonly budgets?: CallBudgets | undefined
  readonly records: Records
  /**
   * The blobs of the store. Its `put` remembers each new blob until the turn is closed, so that a deletion can remove it: see `PutBlobs`.
   */
  readonly blobs: BlobStore
  /** Reads the entries of the open turn from the store. A resumed turn computes its progress from them. */
  entriesOfTurn(turnId: string): Promise<TurnEntries>
  /** Aborted when the agent is closed or the lease is lost. Nothing is committed after that, except a response that is already complete. */
  readonly signal: AbortSignal
  /** Once `requested` is true, no further round begins. The turn stays open, and another process continues it. */
  readonly handOver: { requested: boolean }
}

/** A conversation that this process has claimed, while its turns run. */
export interface Conversation extends ConversationContext {
  readonly agent: AgentContext
  readonly claim: Claim
  readonly kept: KeptTimelines
  readonly firstTurnId: string
  /** The `seq` of the last entry when the conversation was claimed. */
  readonly firstSeq: number
  readonly workspaces: WorkspaceHandle
  readonly putBlobs: PutBlobs
  readonly results: ResultsByEvent
  /** Resolves when the message or event that started the conversation is in the journal. */
  readonly journaled: PromiseWithResolvers<void>
  readonly abort: AbortController
  /** The result of the running turn. When the turn reads an event, the sender of the event gets this result. */
  currentResult: Promise<TurnResult> | undefined
}

/** A conversation that is running in this process. It has one claim and runs one turn at a time. Its inbox stays open between two turns. */
export interface RunningConversation {
  readonly firstTurnId: string
  /**
   * Whether the first turn was already open when the conversation was started, because another process left it open or because it waited.
   */
  readonly isResumed: boolean
  /**
   * The event id of the message that started the conversation. Set only if the message waits in the inbox, because an earlier turn has to
   * end first.
   */
  readonly firstEventId: string | undefined
  readonly inbox: Inbox
  readonly results: ResultsByEvent
  /** Resolves when the message or event that started the conversation is in the journal, and so can not be lost. */
  readonly journaled: Promise<void>
  /** Commits a change that belongs to no turn, such as a new title. */
  commit(change: Change): Promise<void>
  /** Takes the events that other processes have offered. */
  takeOffers(): Promise<void>
  /** The result of the turn that reads the message which started the conversation. Undefined when no turn was started. */
  readonly firstResult: Promise<TurnResult | undefined>
  /** Resolves when the first turn has ended, and every turn that a waiting followup started. */
  readonly finished: Promise<void>
  /**
   * The blobs that tools have put since the last turn was closed. Possibly no entry refers to them yet. A deletion of the conversation then
   * does not find them in the journal and takes them from this list.
   */
  putBlobs(): readonly BlobRef[]
  abort(reason: unknown): void
  /** Ends the running turn after its current round, and leaves it open for another process. */
  handOver(): void
}

/** Why a conversation is started. */
export type StartReason =
  | { readonly kind: 'message'; readonly input: TurnInput }
  /**
   * An open turn must be resumed, or a turn must be started for a waiting followup or an offer. `claim` is set if the conversation was
   * taken from the work list.
   */
  | { readonly kind: 'unfinished'; readonly claim?: Claim }
  /** An event must be journaled. The next turn reads it. */
  | { readonly kind: 'event'; readonly event: NewEvent }
