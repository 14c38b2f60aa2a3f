import { type Attachment, attachmentBlocks, type Draft, stage, userPrompt } from '../core/block/index.ts'
import { filePath } from '../core/path/build.ts'
import { toPhysical } from '../core/path/physical.ts'
import { eligibleMime } from '../core/sources/eligible.ts'
import { mergeSources } from '../core/sources/merge.ts'
import type { IncomingSource } from '../core/sources/source.ts'
import type { Change } from '../core/timeline/change.ts'
import { enter } from '../core/timeline/enter.ts'
import { blockAt, type Timeline } from '../core/timeline/timeline.ts'
import { missingHeader } from '../core/timeline/turns.ts'
import { giveTitle } from './gate.ts'
import { openProgress, type Progress } from './progress.ts'
import { takeUp } from './take-up.ts'
import type { Turn } from './turn.ts'

/** How a turn comes to be: someone said something, or one was left behind. */
export type Opening = { readonly kind: 'asked'; readonly input: Input } | { readonly kind: 'left-behind' }

export interface Input {
  readonly text: string
  readonly attachments: readonly Attachment[]
  /** The followup that nobody took up becomes a turn of its own: then it waits no longer. */
  readonly eventId?: string
}

/** What the user said is entered before anything else happens: it is never lost, whatever comes after. */
export async function begin(turn: Turn, opening: Opening): Promise<Progress> {
  if (opening.kind === 'left-behind') return takeUp(turn)
  const ts = turn.clock.now()
  const isNew = turn.ledger.timeline.size === 0
  await turn.ledger.commit((timeline) => openingChanges(timeline, turn.turnId, ts, opening.input))
  if (isNew) await giveTitle(turn)
  return openProgress(ts, turn.settings)
}

function openingChanges(timeline: Timeline, turnId: string, ts: string, input: Input): readonly Change[] {
  const drafts: readonly Draft[] = [
    ...missingHeader(timeline, turnId, ts),
    userPrompt(turnId, ts, input.text),
    ...input.attachments.flatMap((attachment) => attachmentBlocks(turnId, ts, attachment)),
    ...(asksBack(timeline)
      ? [stage('clarification.resolved', turnId, ts, '[STAGE: CLARIFICATION RESOLVED]\nThe message above answers the questions.')]
      : []),
  ]
  const { pool, changed } = mergeSources(
    timeline.sources,
    input.attachments.flatMap((attachment) => sourceOf(attachment, turnId)),
  )
  return [
    { type: 'turn.opened', turn_id: turnId, ts },
    ...(input.eventId === undefined ? [] : [{ type: 'event.folded' as const, ts, event_ids: [input.eventId], turn_id: turnId }]),
    { type: 'blocks.appended', blocks: enter(timeline, drafts) },
    ...(changed.length > 0 ? [{ type: 'sources.merged' as const, ts, rows: changed, next_sid: pool.next_sid }] : []),
  ]
}

/** The turn before ended in questions that it marked as such. */
function asksBack(timeline: Timeline): boolean {
  const before = blockAt(timeline, timeline.size - 1)?.turn_id
  for (let position = timeline.size - 1; position >= 0; position--) {
    const block = blockAt(timeline, position)
    if (block?.turn_id !== before) return false
    if (block?.type === 'stage.clarification') return true
  }
  return false
}

function sourceOf(attachment: Attachment, turnId: string): readonly IncomingSource[] {
  if (!eligibleMime(attachment.mime)) return []
  const path = filePath(turnId, 'attachments', attachment.name)
  const physical = toPhysical(path)
  if (physical === undefined) return []
  return [
    {
      source_type: 'attachment',
      title: attachment.name,
      mime: attachment.mime,
      size_bytes: attachment.size_bytes,
      artifact_path: path,
      physical_path: physical,
      turn_id: turnId,
    },
  ]
}
