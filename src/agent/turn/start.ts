import type { AnnouncedFeedback } from '../../core/announce/announce.ts'
import { type Attachment, type Draft, userPromptBlock } from '../../core/block/index.ts'
import type { Change, FrozenTexts } from '../../core/timeline/change.ts'
import { assignIds, isKnownEvent, type OpenTurn, type Timeline } from '../../core/timeline/timeline.ts'
import { missingTurnHeader } from '../../core/timeline/turns.ts'
import { resumeTurn } from '../recovery/resume-turn.ts'
import type { AgentSettings } from '../settings.ts'
import { assignUniqueNames, attachedSources, attachmentDrafts, hostAllOrReject, hostIfPossible, removeHosted } from './attachments.ts'
import { clarificationResolved } from './incoming-events.ts'
import { endUnpriced, openProgress, type RoundResult } from './progress.ts'
import { localTitle, startTitle } from './title.ts'
import type { Turn } from './turn.ts'
import type { TurnOptions } from './turn-options.ts'

/**
 * Why a turn runs. `message`: the user sent a message. `unfinished`: the turn is already open, and this process resumes it, because the
 * turn waited or another process left it open.
 */
export type TurnStart = { readonly kind: 'message'; readonly input: TurnInput } | { readonly kind: 'unfinished' }

export interface TurnInput {
  readonly text: string
  readonly attachments: readonly Attachment[]
  /**
   * The id of the message. It comes from the sender, or from the waiting followup that starts this turn. A second message with the same id
   * is ignored.
   */
  readonly eventId?: string
  readonly options?: TurnOptions
  /** The texts that the turn freezes. */
  readonly frozen?: FrozenTexts
}

/** Opens or resumes the turn. For a new turn, the user's message is committed first, so that it can not be lost. */
export async function startTurn(turn: Turn, start: TurnStart, feedbacks: readonly AnnouncedFeedback[]): Promise<RoundResult> {
  const { agent, conversation } = turn
  const { openTurn, size } = conversation.ledger.timeline
  const ts = agent.clock.now()
  startTimeLimit(turn, start.kind === 'unfinished' && openTurn ? activeMs(openTurn, ts) : 0)
  if (start.kind === 'unfinished') return resumeTurn(turn, feedbacks)
  const isNew = size === 0
  await commitInput(turn, start.input, ts, isNew ? localTitle(agent, start.input.text) : undefined)
  const progress = openProgress(ts, agent.settings, feedbacks)
  const started = isNew ? startTitle(turn, progress) : progress
  return started ? { kind: 'next', progress: started } : endUnpriced(progress)
}

/** Starts the timer of the time limit. `usedMs` is the time that the turn has already used. */
function startTimeLimit({ agent: { settings }, conversation: { inbox } }: Turn, usedMs: number): void {
  if (settings.maxSeconds !== undefined) inbox.limitTime(settings.maxSeconds * 1000 - usedMs)
}

/**
 * How long the turn has run since its first start, also in processes that died. Time in which it waited, for example for a person, is left
 * out.
 */
function activeMs({ ts, waited_ms = 0, waiting_since }: OpenTurn, now: string): number {
  return Date.parse(waiting_since ?? now) - Date.parse(ts) - waited_ms
}

/**
 * Commits the user's message. If a file can not be hosted, a new message is rejected. A followup that waited in the journal was already
 * accepted, so it is committed even if a file can not be hosted.
 */
async function commitInput(turn: Turn, input: TurnInput, ts: string, title: string | undefined): Promise<void> {
  const { turnId, agent, conversation } = turn
  const attachments = input.attachments.length === 0 ? input.attachments : await hostAttachments(turn, input, ts)
  try {
    await conversation.ledger.commit((timeline) => openingChanges(timeline, turnId, ts, { ...input, attachments }, agent.settings, title))
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

function openingChanges(
  timeline: Timeline,
  turnId: string,
  ts: string,
  input: TurnInput,
  { sources }: AgentSettings,
  title: string | undefined,
): readonly Change[] {
  const { text, attachments, eventId, options, frozen } = input
  const drafts: Draft[] = [...missingTurnHeader(timeline, turnId, ts), userPromptBlock(turnId, ts, text, eventId)]
  if (attachments.length > 0) drafts.push(...attachmentDrafts(attachments, turnId, ts))
  drafts.push(...clarificationResolved(timeline, turnId, ts))

  const changes: Change[] = eventId === undefined ? [] : [...acceptIfNew(timeline, eventId, text, ts)]
  changes.push({ type: 'turn.opened', turn_id: turnId, ts, ...(options && { options: options.stored }), ...(frozen && { frozen }) })
  if (eventId !== undefined) changes.push({ type: 'event.folded', ts, event_ids: [eventId], turn_id: turnId })
  changes.push({ type: 'blocks.appended', blocks: assignIds(timeline, drafts) })
  if (attachments.length > 0) changes.push(...attachedSources(attachments, { turnId, ts }, timeline, sources))
  if (title !== undefined && timeline.title === undefined) changes.push({ type: 'title.set', ts, title })
  return changes
}

/**
 * Journals the event id of the sender, so that a second delivery of the message is recognised. A followup that waited in the inbox is
 * already journaled.
 */
function acceptIfNew(timeline: Timeline, eventId: string, text: string, ts: string): readonly Change[] {
  if (isKnownEvent(timeline, eventId)) return []
  const sequence = (timeline.lastEvent?.sequence ?? 0) + 1
  return [{ type: 'event.accepted', event: { event_id: eventId, sequence, kind: 'followup', ts, text } }]
}
