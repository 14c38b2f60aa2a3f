import { type Attachment, type Draft, userPromptBlock } from '../../core/block/index.ts'
import type { Change } from '../../core/timeline/change.ts'
import { assignIds, isKnownEvent, type Timeline } from '../../core/timeline/timeline.ts'
import { missingTurnHeader } from '../../core/timeline/turns.ts'
import { resumeTurn } from '../recovery/resume-turn.ts'
import type { AgentSettings } from '../settings.ts'
import { attachedSources, attachmentDrafts, hostIfPossible, hostOrReject, unhost, uniquelyNamed } from './attachments.ts'
import { clarificationResolved } from './incoming-events.ts'
import { openProgress, type Progress } from './progress.ts'
import { generateTitle } from './title.ts'
import type { Turn } from './turn.ts'

/** How a turn comes to be: someone said something, or one was left behind. */
export type TurnStart = { readonly kind: 'asked'; readonly input: TurnInput } | { readonly kind: 'left-behind' }

export interface TurnInput {
  readonly text: string
  readonly attachments: readonly Attachment[]
  /** A followup that becomes a turn of its own: it waits no longer, and a second delivery is known. */
  readonly eventId?: string
}

/** What the user said is entered before anything else happens: it is never lost, whatever comes after. */
export async function startTurn(turn: Turn, opening: TurnStart): Promise<Progress> {
  if (opening.kind === 'left-behind') return resumeTurn(turn)
  const ts = turn.clock.now()
  const isNew = turn.ledger.timeline.size === 0
  await commitInput(turn, opening.input, ts)
  if (isNew) await generateTitle(turn)
  return openProgress(ts, turn.settings)
}

/** A message that waited in the journal is taken in whatever happens to its files; a new one is taken as a whole, or not at all. */
async function commitInput(turn: Turn, input: TurnInput, ts: string): Promise<void> {
  const { ledger, turnId, settings } = turn
  const attachments = input.attachments.length === 0 ? input.attachments : await hostAttachments(turn, input, ts)
  try {
    await ledger.commit((timeline) => openingChanges(timeline, turnId, ts, { ...input, attachments }, settings))
  } catch (error) {
    if (attachments.length > 0) await unhost(turn)
    throw error
  }
}

function hostAttachments(turn: Turn, { attachments, eventId }: TurnInput, ts: string): Promise<readonly Attachment[]> {
  const { timeline } = turn.ledger
  const waited = eventId !== undefined && isKnownEvent(timeline, eventId)
  return (waited ? hostIfPossible : hostOrReject)(turn, uniquelyNamed(attachments, turn.turnId, timeline), ts)
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

/** What someone sent under a name of their own is known by it from now on, whether it had to wait or not. */
function acceptIfNew(timeline: Timeline, eventId: string, text: string, ts: string): readonly Change[] {
  if (isKnownEvent(timeline, eventId)) return []
  const sequence = (timeline.lastEvent?.sequence ?? 0) + 1
  return [{ type: 'event.accepted', event: { event_id: eventId, sequence, kind: 'followup', ts, text } }]
}
