import type { AnnouncedFeedback } from '../../core/announce/sections.ts'
import type { BlobRef } from '../../core/block/index.ts'
import type { LaneEvent, StatusEvent } from '../../core/event.ts'
import type { Scope } from '../../core/scope.ts'
import type { SystemFingerprint } from '../../core/timeline/change.ts'
import type { BlobStore } from '../../ports/blobs.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Hosting } from '../../ports/hosting.ts'
import type { Workspace } from '../../ports/workspace.ts'
import type { CallLog } from '../../tools/context-files.ts'
import type { Records } from '../../tools/tool.ts'
import type { Models, Problem } from '../agent-context.ts'
import type { TurnEntries } from '../conversation/history.ts'
import type { Inbox } from '../conversation/inbox.ts'
import type { Ledger } from '../conversation/ledger.ts'
import type { Renderers } from '../conversation/renderers.ts'
import type { Spending } from '../conversation/spending.ts'
import type { Watchers } from '../events/event-hub.ts'
import type { Hooks } from '../hooks.ts'
import type { AgentSettings } from '../settings.ts'
import type { Toolbox } from '../tools.ts'
import { cancelledResult, type ForcedEnd, finishTurn, type TurnResult } from './finish.ts'
import { openProgress, type Progress } from './progress.ts'
import { round } from './round.ts'
import { startTurn, type TurnStart } from './start.ts'
import type { WorkspaceHandle } from './workspace.ts'

/**
 * A turn, top to bottom:
 *
 *   start     commit header, prompt and attachments, or resume an interrupted turn; a new conversation gets a title
 *   round     take in inbox events → show the timeline to the model → read its decision → reject it, run the tool call, or handle the answer
 *   …         until a round has ended the turn
 *   finish    answer, sources used and close are committed together, so that a turn is never half closed
 */
export async function runTurn(turn: Turn, start: TurnStart): Promise<TurnResult> {
  let progress: Progress | undefined
  try {
    progress = await startTurn(turn, start)
    for (;;) {
      const outcome = await round(turn, progress)
      if ('result' in outcome) return outcome.result
      progress = outcome.progress
    }
  } catch (error) {
    const open = turn.ledger.timeline.openTurn
    if (open?.turn_id !== turn.turnId) throw error // the message is not in the journal: its sender gets the error
    if (turn.signal.aborted) return cancelledResult(turn)
    progress ??= openProgress(open.ts, turn.settings)
    return finishTurn(turn, progress, endedByError(error)) // throws again when the journal itself has failed
  }
}

/** What a turn may use. Only the ledger changes, and with it inbox and spending, which are derived from its entries. */
export interface Turn {
  readonly conversationId: string
  /** The owner of the conversation. */
  readonly scope: Scope
  readonly turnId: string
  readonly ledger: Ledger
  readonly inbox: Inbox
  readonly models: Models
  readonly toolbox: Toolbox
  /** Byte-stable for as long as the agent lives. */
  readonly system: string
  systemTokens(): number
  readonly systemFingerprint: SystemFingerprint
  readonly renderers: Renderers
  readonly settings: AgentSettings
  readonly spending: Spending
  /** Feedback on earlier turns, collected when the turn began and announced in every round. */
  readonly feedbacks: readonly AnnouncedFeedback[]
  readonly clock: Clock
  readonly hooks: Hooks
  readonly records: Records
  workspace(): Promise<Workspace>
  readonly workspaceHandle: Pick<WorkspaceHandle, 'isOpen' | 'implementation'>
  /** Another process began the turn. */
  readonly resumed: boolean
  /** Calls of this turn, for the context files in the workspace; undefined when the agent has no workspaces. */
  readonly callLog: CallLog | undefined
  readonly blobs: BlobStore
  readBlob(blob: BlobRef): Promise<Uint8Array>
  readonly hosting: Hosting | undefined
  /** Reports a failure that no caller would otherwise see. */
  onProblem(problem: Problem): void
  /** Fires when the turn is cancelled: nothing more is committed. */
  readonly signal: AbortSignal
  emit(event: LaneEvent | StatusEvent): void
  readonly watchers: Watchers
  /** The journal of this turn so far, read from the store. Only a resumed turn needs it. */
  entries(): Promise<TurnEntries>
}

function endedByError(error: unknown): ForcedEnd {
  return { exitReason: 'error', fallback: 'error', error: error instanceof Error ? error : new Error(String(error)) }
}
