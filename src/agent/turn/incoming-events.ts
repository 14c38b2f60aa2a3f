import { type Attachment, type Block, type Draft, stageBlock, userEventBlock } from '../../core/block/index.ts'
import { extraRoundsOf, grantExtraRounds } from '../../core/budget.ts'
import { openWrapUp, steerWrapUp } from '../../core/decision/limits.ts'
import { isObject } from '../../core/json.ts'
import { externalPath } from '../../core/path/build.ts'
import type { Change, InboxEvent } from '../../core/timeline/change.ts'
import { assignIds, blockAt, type Timeline } from '../../core/timeline/timeline.ts'
import type { AgentSettings } from '../settings.ts'
import { attachedSources, attachmentDrafts, attachmentsIn, hostIfPossible, uniquelyNamed } from './attachments.ts'
import type { Progress } from './progress.ts'
import type { Turn } from './turn.ts'

/** Takes what waits in the inbox into the turn, in order: as blocks for the model to read, and as credit to answer with. */
export function applyInboxEvents(turn: Turn, before: Progress): Progress | Promise<Progress> {
  const due = dueEvents(turn.inbox.waiting, turn.turnId)
  return due.length === 0 ? before : commitInboxEvents(turn, before, due)
}

async function commitInboxEvents(turn: Turn, before: Progress, due: readonly InboxEvent[]): Promise<Progress> {
  const ts = turn.clock.now()
  const mine = due.filter((event) => isForTurn(event, turn.turnId))
  const named = uniquelyNamed(mine.flatMap(attachmentsIn), turn.turnId, turn.ledger.timeline)
  const attached = await hostIfPossible(turn, named, ts)
  let said: readonly (readonly Block[])[] = []
  await turn.ledger.commit((timeline) => {
    said = blocksFor(mine, attached, turn.turnId, timeline)
    return [
      ...(mine.length > 0 ? [{ type: 'blocks.appended' as const, blocks: said.flat() }] : []),
      ...attachedSources(attached, { turnId: turn.turnId, ts }, timeline, turn.settings.sources),
      ...foldedChange(mine, turn.turnId, ts),
      ...expiredSteers(due, turn.turnId, ts),
    ]
  })
  for (const [index, event] of mine.entries()) {
    await turn.hooks.onExternalEvent({ type: event.kind, event, blocks: said[index] ?? [] })
  }
  return mine.reduce((progress, event) => applyEvent(progress, event, turn.settings), before)
}

/** In order of acceptance, and nothing beyond the last stop: what was said after it is for the next turn to answer. */
function dueEvents(waiting: readonly InboxEvent[], turnId: string): readonly InboxEvent[] {
  if (waiting.length === 0) return waiting
  const events = waiting.filter(({ kind }) => kind !== 'feedback').sort((a, b) => a.sequence - b.sequence)
  const stop = events.findLastIndex((event) => isStop(event) && isForTurn(event, turnId))
  return stop === -1 ? events : events.slice(0, stop + 1)
}

/** A steer meant for another turn is not carried over to this one; everything else is. */
function isForTurn(event: InboxEvent, turnId: string): boolean {
  return event.kind !== 'steer' || event.target_turn_id === undefined || event.target_turn_id === turnId
}

/** Fires the signal of whatever the turn is doing. */
export const interruptsTurn = (event: InboxEvent, turnId: string): boolean => event.kind === 'steer' && isForTurn(event, turnId)

const isStop = (event: InboxEvent): boolean => event.kind === 'steer' && event.text.trim() === ''

/** What an event means for the turn that it has become part of. */
export function applyEvent(progress: Progress, event: InboxEvent, settings: AgentSettings): Progress {
  const events = [...progress.events, { kind: event.kind, ts: event.ts, text: event.text }]
  if (isStop(event)) return { ...progress, events, stopped: true }
  if (event.kind === 'steer')
    return modeOf(event) === 'wrap_up' ? { ...progress, events, wrapUp: wrapUpAllowance(settings) } : { ...progress, events }
  const budget = grantExtraRounds(progress.budget, event.event_id, extraRoundsOf(event))
  if (event.kind !== 'followup') return { ...progress, events, budget }
  const { wrapUp: _over, ...resumed } = progress // something new to answer: the normal budget is back
  return { ...resumed, events, budget }
}

const modeOf = (event: InboxEvent) => (isObject(event.payload) && event.payload.mode === 'wrap_up' ? 'wrap_up' : 'redirect')

const wrapUpAllowance = ({ wrapUp, wrapUpRounds }: AgentSettings) =>
  openWrapUp(steerWrapUp, { rounds: wrapUpRounds, maxTokens: wrapUp.maxTokens })

/** Of each event its block, followed by what it brought along. */
function blocksFor(
  events: readonly InboxEvent[],
  attached: readonly Attachment[],
  turnId: string,
  timeline: Timeline,
): readonly (readonly Block[])[] {
  const answer = events.find(({ kind, text }) => kind === 'followup' || (kind === 'steer' && text.trim() !== ''))
  let { nextBlock } = timeline
  let next = 0
  return events.map((event) => {
    const own = attached.slice(next, next + attachmentsIn(event).length)
    next += own.length
    const resolved = event === answer ? clarificationResolved(timeline, turnId, event.ts) : []
    const blocks = assignIds({ nextBlock }, [draftOf(event, turnId), ...attachmentDrafts(own, turnId, event.ts), ...resolved])
    nextBlock += blocks.length
    return blocks
  })
}

function draftOf(event: InboxEvent, turnId: string): Draft {
  const said = { messageId: event.event_id, text: event.text }
  if (event.kind === 'followup' || event.kind === 'steer') return userEventBlock(event.kind, turnId, event.ts, said)
  const source = isObject(event.payload) && typeof event.payload.source === 'string' ? event.payload.source : undefined
  return {
    type: 'event.external',
    author: 'system',
    turn_id: turnId,
    ts: event.ts,
    mime: 'text/markdown',
    path: externalPath(turnId, 'event', event.event_id),
    text: source === undefined ? event.text : `source: ${source}\n${event.text}`,
    meta: { message_id: event.event_id, ...(source !== undefined && { source }) },
  }
}

function foldedChange(events: readonly InboxEvent[], turnId: string | null, ts: string): readonly Change[] {
  return events.length === 0 ? [] : [{ type: 'event.folded', ts, event_ids: events.map(({ event_id }) => event_id), turn_id: turnId }]
}

/** Steers of other turns: nobody is left who could follow them. */
const expiredSteers = (events: readonly InboxEvent[], turnId: string, ts: string): readonly Change[] =>
  foldedChange(
    events.filter((event) => !isForTurn(event, turnId)),
    null,
    ts,
  )

/** What a turn must still look at before it ends. A stop alone is nothing to look at: the answer that is there is the last word. */
export function hasUnansweredEvents({ inbox }: Timeline, turnId: string): boolean {
  if (inbox.length === 0) return false
  return dueEvents(inbox, turnId).some((event) => needsAnswer(event, turnId) && !isStop(event))
}

/**
 * Enters the end of a turn that nothing can hold back. What was said before a stop was said to the turn that stops: it is taken in first,
 * though nobody will answer it, and is no reason for another turn.
 */
export async function commitEnd(turn: Turn, progress: Progress, changes: (timeline: Timeline) => readonly Change[]): Promise<void> {
  for (let entered = false; !entered; ) {
    await turn.ledger.commit((timeline) => {
      entered = !wasStopped(timeline, turn.turnId) || !hasUnansweredEvents(timeline, turn.turnId)
      return entered ? changes(timeline) : []
    })
    if (!entered) await applyInboxEvents(turn, progress)
  }
}

const wasStopped = ({ inbox }: Timeline, turnId: string): boolean => inbox.some((event) => isStop(event) && isForTurn(event, turnId))

/** An answer that is about to be the last word must be looked at again. */
export const needsAnswer = (event: InboxEvent, turnId: string): boolean => isForTurn(event, turnId) && asksForAnswer(event)

/** A user always does; something from outside only when it says so. */
const asksForAnswer = (event: InboxEvent): boolean => event.kind === 'followup' || event.kind === 'steer' || extraRoundsOf(event) > 0

/** With the close, steers that came too late for this turn wait no longer: they are not for the next one. */
export function discardLateSteers({ inbox }: Timeline, ts: string): readonly Change[] {
  return foldedChange(
    inbox.filter(({ kind }) => kind === 'steer'),
    null,
    ts,
  )
}

const clarificationResolvedText = '[STAGE: CLARIFICATION RESOLVED]\nThe message above answers the questions.'

/** What the user says next answers the questions that the latest turn has marked as such, be it in that turn or in another. */
export function clarificationResolved(timeline: Timeline, turnId: string, ts: string): readonly Draft[] {
  return hasOpenQuestions(timeline) ? [stageBlock('clarification.resolved', turnId, ts, clarificationResolvedText)] : []
}

/** The latest turn has questions that nothing was said to since. */
function hasOpenQuestions(timeline: Timeline): boolean {
  const latest = blockAt(timeline, timeline.size - 1)?.turn_id
  for (let position = timeline.size - 1; position >= 0; position--) {
    const block = blockAt(timeline, position)
    if (block?.turn_id !== latest || block?.type === 'stage.clarification.resolved') return false
    if (block?.type === 'stage.clarification') return true
  }
  return false
}
