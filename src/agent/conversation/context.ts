import type { Scope } from '../../core/scope.ts'
import type { Records } from '../../tools/tool.ts'
import type { LiveFeed } from '../events/event-hub.ts'
import type { TurnEntries } from './history.ts'
import type { Inbox } from './inbox.ts'
import type { Ledger } from './ledger.ts'
import type { Renderers } from './renderers.ts'
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
