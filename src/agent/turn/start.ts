import type { AnnouncedFeedback } from '../../core/announce/announce.ts'
import { type Attachment, type Draft, userPromptBlock } from '../../core/block/index.ts'
import type { Change } from '../../core/timeline/change.ts'
import { assignIds, isKnownEvent, missingTurnHeader, type Timeline } from '../../core/timeline/timeline.ts'
import { resumeTurn } from '../recovery/resume-turn.ts'
import type { AgentSettings } from '../settings.ts'
import { assignUniqueNames, attachedSources, attachmentDrafts, hostAllOrReject, hostIfPossible, removeHosted } from './attachments.ts'
import { clarificationResolved } from './incoming-events.ts'
import { openProgress, type RoundResult } from './round.ts'
import { generateTitle } from './title.ts'
import type { Turn } from './turn.ts'

/** Why a turn runs: the user sent a message, or a process died before the turn was closed. */
export type TurnStart = { readonly kind: 'message'; readonly input: TurnInput } | { readonly kind: 'unfinished' }

export interface TurnInput {
  readonly text: string
  readonly attachments: readonly Attachment[]
  /**
   * The id of the message. It is set by the sender, or when a waiting followup becomes a turn. A second message with the same id is
   * ignored.
   */
  readonly eventId?: string
}

/** Opens the turn, or resumes it. The user's message is committed before anything else happens, so that it can not be lost. */
export async function startTurn(turn: Turn, start: TurnStart, feedbacks: readonly AnnouncedFeedback[]): Promise<RoundResult> {
  const { agent, conversation } = turn
  const { openTurn, size } = conversation.ledger.timeline
  const ts = agent.clock.now()
  startTimeLimit(turn, (start.kind === 'unfinished' && openTurn?.ts) || ts, ts)
  if (start.kind === 'unfinished') return resumeTurn(turn, feedbacks)
  const isNew = size === 0
  await commitInput(turn, start.input, ts)
  if (isNew) await generateTitle(turn)
  return { kind: 'next', progress: openProgress(ts, agent.settings, feedbacks) }
}

/** Starts the time limit. It counts from the start of the turn, also when the turn is resumed after a crash. */
function startTimeLimit({ agent: { settings }, conversation: { inbox } }: Turn, startedAt: string, now: string): void {
  if (settings.maxSeconds !== undefined) inbox.limitTime(Date.parse(startedAt) + settings.maxSeconds * 1000 - Date.parse(now))
}

/** Commits the user's message. A new message is rejected when a file can not be hosted. A message that waited in the journal is not. */
async function commitInput(turn: Turn, input: TurnInput, ts: string): Promise<void> {
  const { turnId, agent, conversation } = turn
  const attachments = input.attachments.length === 0 ? input.attachments : await hostAttachments(turn, input, ts)
  try {
    await conversation.ledger.commit((timeline) => openingChanges(timeline, turnId, ts, { ...input, attachments }, agent.settings))
  } catch (error) {
    if (attachments.length > 0) await removeHosted(turn)
    throw error
  }
}

function hostAttachments(turn: Turn, { attachments, eventId }: TurnInput, ts: string): Promise<readonly Attachment[]> {
  const { timeline } = turn.conversation.ledger
  const waited = eventId !== undefined && isKnownEvent(timeline, eventId)
  return (waited ? hostIfPossible : hostAllOrReject)(turn, assignUniqueNames(attachments, turn.turnId, timeline), ts)
}

function openingChanges(timeline: Timeline, turnId: string, ts: string, input: TurnInput, { sources }: AgentSettings): readonly Change[] {
  const { text, attachments, eventId } = input
  const drafts: Draft[] = [...missingTurnHeader(timeline, turnId, ts), userPromptBlock(turnId, ts, text, eventId)]
  if (attachments.length > 0) drafts.push(...attachmentDrafts(attachments, turnId, ts))
  drafts.push(...clarificationResolved(timeline, turnId, ts))

  const changes: Change[] = eventId === undefined ? [] : [...acceptIfNew(timeline, eventId, text, ts)]
  changes.push({ type: 'turn.opened', turn_id: turnId, ts })
  if (eventId !== undefined) changes.push({ type: 'event.folded', ts, event_ids: [eventId], turn_id: turnId })
  changes.push({ type: 'blocks.appended', blocks: assignIds(timeline, drafts) })
  if (attachments.length > 0) changes.push(...attachedSources(attachments, { turnId, ts }, timeline, sources))
  return changes
}

/** Journals the sender's event id, so that a second delivery is recognised. A message that waited in the inbox was journaled before. */
function acceptIfNew(timeline: Timeline, eventId: string, text: string, ts: string): readonly Change[] {
  if (isKnownEvent(timeline, eventId)) return []
  const sequence = (timeline.lastEvent?.sequence ?? 0) + 1
  return [{ type: 'event.accepted', event: { event_id: eventId, sequence, kind: 'followup', ts, text } }]
}
