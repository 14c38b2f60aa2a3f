import { type BlockOrigin, rawDecisionBlock } from '../../core/block/index.ts'
import { assignIds, type Timeline } from '../../core/timeline/timeline.ts'
import { enterResponse, type ModelCall, type NewCall, responseReceived } from '../model-call/model-call.ts'
import type { Progress, RoundResult } from './progress.ts'
import { takeTitle } from './title.ts'
import type { Turn } from './turn.ts'

/**
 * Handles a response that a steer or the time limit interrupted. The text so far is committed, so that the model can read it. The next
 * round applies the steer or wraps up the turn. If no other answer follows in this turn, the part of the answer that users saw is kept.
 */
export async function handleInterruption(
  { conversation }: Turn,
  progress: Progress,
  origin: BlockOrigin,
  call: NewCall,
): Promise<RoundResult> {
  if (conversation.signal.aborted) return { kind: 'ended', progress, end: cancelled }
  const text = call.response.text()
  const response = responseReceived(origin, call, 'interrupted')
  const { titleBlocks, untitled } = takeTitle(progress)
  const drafts = [...titleBlocks, ...(text.trim() === '' ? [] : [rawDecisionBlock(origin, text)])]
  const written = (timeline: Timeline) => ({ type: 'blocks.appended' as const, blocks: assignIds(timeline, drafts) })
  await conversation.ledger.commit((timeline) => (drafts.length === 0 ? [response] : [response, written(timeline)]))
  return { kind: 'next', progress: withUnfinished(untitled, call.response.liveOutput().answer()?.text, origin.iteration) }
}

/** The progress after an interrupted response. `shown` is the part of its answer that users saw. */
export const withUnfinished = (progress: Progress, shown: string | undefined, iteration: number): Progress =>
  shown === undefined ? progress : { ...progress, unfinished: { text: shown, iteration, truncated: true } }

/**
 * Commits a complete response and does not act on it, because the agent is being closed. The process that resumes the turn acts on the
 * response.
 */
export async function leaveToNextProcess(turn: Turn, progress: Progress, origin: BlockOrigin, call: ModelCall): Promise<RoundResult> {
  await enterResponse(turn, origin, call)
  return { kind: 'ended', progress, end: cancelled }
}

const cancelled = { kind: 'cancelled' } as const
