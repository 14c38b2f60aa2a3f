import type { AnnouncedFeedback } from '../../core/announce/sections.ts'
import type { BlobRef } from '../../core/block/index.ts'
import type { LaneEvent, StatusEvent } from '../../core/event.ts'
import type { Scope } from '../../core/scope.ts'
import type { SystemFingerprint } from '../../core/timeline/change.ts'
import type { BlobStore } from '../../ports/blobs.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Hosting } from '../../ports/hosting.ts'
import type { Model } from '../../ports/model.ts'
import type { Workspace } from '../../ports/workspace.ts'
import type { CallLog } from '../../tools/context-files.ts'
import type { Records } from '../../tools/tool.ts'
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
 *   begin     header, prompt and attachments are entered; an interrupted turn is taken up where it died; a new conversation gets a title
 *   round     fold in what came from outside → show the timeline to the model → read its decision → refuse, act, or conclude
 *   …         until a round has ended the turn
 *   finish    the answer, what it cited, and the close are one entry: a turn is never half over
 */
export async function runTurn(turn: Turn, opening: TurnStart): Promise<TurnResult> {
  let progress: Progress | undefined
  try {
    progress = await startTurn(turn, opening)
    for (;;) {
      const step = await round(turn, progress)
      if ('result' in step) return step.result
      progress = step.progress
    }
  } catch (error) {
    const open = turn.ledger.timeline.openTurn
    if (open?.turn_id !== turn.turnId) throw error // what the user said could not even be entered: whoever sent it is told
    if (turn.signal.aborted) return cancelledResult(turn)
    progress ??= openProgress(open.ts, turn.settings)
    return finishTurn(turn, progress, endedByError(error)) // throws the same error when it is the journal that is broken
  }
}

/** What a turn may use. Nothing here changes but the ledger, and with it the inbox and the bill. */
export interface Turn {
  readonly conversationId: string
  /** Whose it is. */
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
  /** What was found out when the turn began and is announced in every round. */
  readonly news: TurnNews
  readonly clock: Clock
  readonly hooks: Hooks
  readonly records: Records
  workspace(): Promise<Workspace>
  readonly workspaceHandle: Pick<WorkspaceHandle, 'isOpen' | 'implementation'>
  /** Another process began it. */
  readonly resumed: boolean
  /** For whoever looks at the workspace; without one nobody does. */
  readonly callLog: CallLog | undefined
  readonly blobs: BlobStore
  readBlob(blob: BlobRef): Promise<Uint8Array>
  readonly hosting: Hosting | undefined
  /** Told of what cannot reach anybody else. */
  onProblem(problem: { readonly where: string; readonly error: unknown }): void
  /** Fires when the turn itself is cancelled: nothing more is entered. */
  readonly signal: AbortSignal
  emit(event: LaneEvent | StatusEvent): void
  readonly watchers: Watchers
  /** What stands in the journal of this turn, from its opening on. Only a turn that is taken up again needs to ask. */
  entries(): Promise<TurnEntries>
}

export interface TurnNews {
  readonly feedbacks: readonly AnnouncedFeedback[]
}

export interface Models {
  readonly decision: Model
  readonly gate: Model
  readonly compaction: Model
}

function endedByError(error: unknown): ForcedEnd {
  return { exitReason: 'error', ending: 'error', error: error instanceof Error ? error : new Error(String(error)) }
}
