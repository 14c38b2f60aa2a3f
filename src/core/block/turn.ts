import { omitUndefined } from '../json.ts'
import { feedbackPath, stagePath, summaryPath, systemMessagePath } from '../path/build.ts'
import type { Draft, Meta } from './block.ts'

/** The first block of a turn. It has no text. Its `ts` is the time when the turn started. */
export function turnHeaderBlock(turnId: string, ts: string): Draft<'turn.header'> {
  return { type: 'turn.header', author: 'system', turn_id: turnId, ts, text: '' }
}

/** A message of the runtime to the agent. For example, it says that old blocks were hidden. */
export function systemMessageBlock(
  turnId: string,
  ts: string,
  message: { readonly key: string; readonly text: string; readonly kind?: string; readonly ttlSeconds?: number },
): Draft<'system.message'> {
  return {
    type: 'system.message',
    author: 'system',
    turn_id: turnId,
    ts,
    mime: 'text/markdown',
    path: systemMessagePath(turnId, message.key),
    text: message.text,
    meta: omitUndefined({ kind: message.kind, ttl_seconds: message.ttlSeconds }),
  }
}

export type Reaction = 'ok' | 'not_ok' | 'neutral'

/** Feedback on a turn. All feedback blocks of one turn have the same path. Only the latest feedback is valid. */
export function feedbackBlock(
  turnId: string,
  ts: string,
  feedback: {
    readonly text: string
    readonly origin?: 'user' | 'machine'
    readonly reaction?: Reaction
    readonly confidence?: number
    readonly fromTurnId?: string
  },
): Draft<'turn.feedback'> {
  return {
    type: 'turn.feedback',
    author: feedback.origin === 'user' ? 'user' : 'system',
    turn_id: turnId,
    ts,
    mime: 'text/markdown',
    path: feedbackPath(turnId),
    text: feedback.text,
    meta: omitUndefined({
      origin: feedback.origin,
      reaction: feedback.reaction,
      confidence: feedback.confidence,
      from_turn_id: feedback.fromTurnId,
    }),
  }
}

/** The summary of a compaction. It replaces all blocks before it. `turnId` is the turn of the first block that is not replaced. */
export function rangeSummaryBlock(
  turnId: string,
  ts: string,
  summary: {
    readonly text: string
    readonly coveredTurnIds: readonly string[]
    readonly digest?: unknown
    readonly startTs?: string
    readonly endTs?: string
    readonly firstMessageTs?: string
  },
): Draft<'conv.range.summary'> {
  return {
    type: 'conv.range.summary',
    author: 'system',
    turn_id: turnId,
    ts,
    mime: 'text/markdown',
    path: summaryPath(turnId),
    text: summary.text,
    meta: omitUndefined({
      covered_turn_ids: summary.coveredTurnIds,
      compaction_digest: summary.digest,
      compacted_range_start_ts: summary.startTs,
      compacted_range_end_ts: summary.endTs,
      conversation_first_message_ts: summary.firstMessageTs,
    }),
  }
}

type StageName = 'gate' | 'react' | 'coordinator' | 'feedback' | 'clarification' | 'clarification.resolved' | 'suggested_followups'

const authors: { readonly [S in StageName]: string } = {
  gate: 'gate',
  react: 'react',
  coordinator: 'coordinator',
  feedback: 'user',
  clarification: 'system',
  'clarification.resolved': 'user',
  suggested_followups: 'system',
}

/**
 * A block of type `stage.<name>`. It records the output of one step of a turn, such as the title (`gate`) or questions to the user
 * (`clarification`).
 */
export function stageBlock<S extends StageName>(name: S, turnId: string, ts: string, text: string, meta?: Meta): Draft<`stage.${S}`> {
  const block = {
    type: `stage.${name}` as const,
    author: authors[name],
    turn_id: turnId,
    ts,
    mime: 'text/markdown',
    path: stagePath(turnId, name),
    text,
  }
  return meta === undefined ? block : { ...block, meta }
}

/** Questions to the user. The agent needs the answers before it can continue its work. */
export function clarificationBlock(turnId: string, ts: string, questions: readonly string[]): Draft<'stage.clarification'> {
  return stageBlock('clarification', turnId, ts, `[STAGE: CLARIFICATION]\nquestions: ${questions.join(' | ')}`, { questions })
}

/** Questions that the model suggests to the user as the next message. They are shown to the user but never to the model. */
export function suggestedFollowupsBlock(turnId: string, ts: string, items: readonly string[]): Draft<'stage.suggested_followups'> {
  return stageBlock('suggested_followups', turnId, ts, items.map((item) => `- ${item}`).join('\n'), { items })
}
