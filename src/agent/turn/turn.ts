import type { AnnouncedFeedback } from '../../core/announce/announce.ts'
import type { FrozenTexts } from '../../core/timeline/change.ts'
import type { TurnServices } from '../agent-context.ts'
import type { ConversationContext } from '../conversation/context.ts'
import type { TurnWorkspace } from '../workspace/workspace.ts'
import { type ForcedEnd, finishTurn, finishWithFallback } from './finish.ts'
import type { Progress } from './progress.ts'
import { openProgress } from './progress.ts'
import { cancelledResult, type TurnResult, waitingResult } from './result.ts'
import { round } from './round.ts'
import { startTurn, type TurnStart } from './start.ts'
import { waitForTitle } from './title.ts'

/**
 * Runs a turn from its start to its end:
 *
 *   start     commit the message, or resume an interrupted turn. In a new conversation, ask for a title and do not wait for it
 *   round     make blocks from inbox events → call the model → read its decision → reject it, run the tool, or take the answer
 *   …         more rounds, until a round ends the turn
 *   finish    commit the answer, the used sources and `turn.closed` together, so that a turn is never half closed
 */
export async function runTurn(turn: Turn, start: TurnStart, feedbacks: readonly AnnouncedFeedback[]): Promise<TurnResult> {
  const { turnId, agent, conversation } = turn
  let progress: Progress | undefined
  try {
    let outcome = await startTurn(turn, start, feedbacks)
    for (;;) {
      progress = outcome.progress
      if (outcome.kind === 'waiting') {
        await waitForTitle(turn, progress)
        return await waitingResult(turn, outcome.waits)
      }
      const next = outcome.kind === 'next' ? outcome : await finishTurn(turn, progress, outcome.end)
      if (next.kind === 'closed') return next.result
      progress = next.progress
      outcome = await round(turn, progress)
    }
  } catch (error) {
    const open = conversation.ledger.timeline.openTurn
    if (open?.turn_id !== turnId) throw error // the message is not in the journal, so its sender gets the error
    if (conversation.signal.aborted) return cancelledResult(turn)
    progress ??= openProgress(open.ts, agent.settings, feedbacks)
    return await finishWithFallback(turn, progress, endedByError(error)) // throws again if the journal can not be written
  } finally {
    await progress?.title?.stop()
  }
}

/**
 * The objects that a turn uses. Only the ledger has state of its own. The inbox and the spending are computed from the ledger's entries.
 */
export interface Turn {
  readonly turnId: string
  /** The objects of the agent that the turn uses. With MCP servers, they change when a compaction adopts another list of tools. */
  readonly agent: TurnServices
  readonly conversation: ConversationContext
  readonly workspace: TurnWorkspace
  /** How many milliseconds the model calls and the tools of this turn have taken in this process. */
  readonly times: { modelMs: number; toolMs: number }
  /**
   * Called by a compaction. `commit` commits the compaction, together with the texts that the turn uses from now on, if these have changed.
   * Undefined when no text can change.
   */
  adoptTexts?(commit: (frozen: FrozenTexts | undefined) => Promise<void>): Promise<void>
}

function endedByError(error: unknown): ForcedEnd {
  return { exitReason: 'error', fallback: 'error', error: error instanceof Error ? error : new Error(String(error)) }
}
