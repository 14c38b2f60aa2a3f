import { type Attachment, type Block, type Draft, stageBlock, userEventBlock } from '../../core/block/index.ts'
import { extraRoundsOf, grantExtraRounds, openWrapUp, steerWrapUp } from '../../core/budget.ts'
import { cutAt } from '../../core/cut.ts'
import { isObject } from '../../core/json.ts'
import { externalPath } from '../../core/path/build.ts'
import type { Change } from '../../core/timeline/change.ts'
import { type InboxEvent, isMessage } from '../../core/timeline/inbox-event.ts'
import { assignIds, blockAt, type Timeline } from '../../core/timeline/timeline.ts'
import type { AgentSettings } from '../settings.ts'
import { assignUniqueNames, attachedSources, attachmentDrafts, attachmentsIn, hostIfPossible } from './attachments.ts'
import type { Progress } from './progress.ts'
import type { Turn } from './turn.ts'

/** Makes blocks from the waiting events, in order, so that the model reads them in this turn. Some events add rounds to the budget. */
export async function applyInboxEvents(turn: Turn, before: Progress): Promise<Progress> {
  const due = dueEvents(turn.conversation.ledger.timeline.inbox, turn.turnId, before.stopped)
  return due.length === 0 ? before : commitInboxEvents(turn, before, due)
}

async function commitInboxEvents(turn: Turn, before: Progress, due: readonly InboxEvent[]): Promise<Progress> {
  const { turnId, agent, conversation } = turn
  const { ledger } = conversation
  const ts = agent.clock.now()
  const own = due.filter((event) => isForTurn(event, turnId))
  const named = assignUniqueNames(own.flatMap(attachmentsIn), turnId, ledger.timeline)
  const attached = await hostIfPossible(turn, named, ts)
  let blocks: readonly (readonly Block[])[] = []
  let withdrawn = false
  await ledger.commit((timeline) => {
    withdrawn = due.some((event) => !timeline.inbox.includes(event))
    if (withdrawn) return []
    blocks = blocksFor(own, attached, turnId, timeline)
    return [
      ...(own.length > 0 ? [{ type: 'blocks.appended' as const, blocks: blocks.flat() }] : []),
      ...attachedSources(attached, { turnId, ts }, timeline, agent.settings.sources),
      ...foldedChange(own, turnId, ts),
      ...expiredSteers(due, turnId, ts),
    ]
  })
  if (withdrawn) return applyInboxEvents(turn, before) // a message was withdrawn while its attachments were hosted: read the inbox again
  for (const [index, event] of own.entries()) {
    await agent.hooks.onExternalEvent({ type: event.kind, event, blocks: blocks[index] ?? [] })
  }
  return own.reduce((progress, event) => applyEvent(progress, event, agent.settings), before)
}

/**
 * The waiting events that this turn reads, in the order of their acceptance. A late result is among them if its call has been settled
 * without it. When a turn reads its inbox, all its calls are settled. Events after the user's last stop are left for the next turn.
 * `stopped` is true if the turn has already read a stop. This happens if a process died after the turn had read the stop, and another
 * process resumes the turn.
 */
function dueEvents(waiting: readonly InboxEvent[], turnId: string, stopped = false): readonly InboxEvent[] {
  const events = waiting
    .filter((event) => event.kind === 'completion' || (isMessage(event) && event.kind !== 'feedback'))
    .sort((a, b) => a.sequence - b.sequence)
  const stop = events.findLastIndex((event) => isStop(event) && isForTurn(event, turnId))
  return stop === -1 && !stopped ? events : events.slice(0, stop + 1)
}

/** Whether this turn may read an event. A steer is for one turn only. Any other event is read by the first turn that finds it. */
function isForTurn(event: Pick<InboxEvent, 'kind' | 'target_turn_id'>, turnId: string): boolean {
  return event.kind !== 'steer' || event.target_turn_id === undefined || event.target_turn_id === turnId
}

/** Whether the event aborts the running model call or tool of the turn. */
export const interruptsTurn = (event: Pick<InboxEvent, 'kind' | 'target_turn_id'>, turnId: string): boolean =>
  event.kind === 'steer' && isForTurn(event, turnId)

const isStop = (event: InboxEvent): boolean => event.kind === 'steer' && event.text.trim() === ''

/** The progress of the turn after it has read an event. */
export function applyEvent(progress: Progress, event: InboxEvent, settings: AgentSettings): Progress {
  const events = [...progress.events, { kind: event.kind, ts: event.ts, text: event.text }]
  if (isStop(event)) return { ...progress, events, stopped: true }
  if (event.kind === 'steer')
    return modeOf(event) === 'wrap_up' ? { ...progress, events, wrapUp: wrapUpAllowance(settings) } : { ...progress, events }
  const budget = grantExtraRounds(progress.budget, event.event_id, event.kind === 'completion' ? 1 : extraRoundsOf(event))
  if (event.kind !== 'followup') return { ...progress, events, budget }
  const { wrapUp: _ended, ...rest } = progress // a followup ends the wrap-up, because it needs an answer
  return { ...rest, events, budget }
}

const modeOf = (event: InboxEvent) => (isObject(event.payload) && event.payload.mode === 'wrap_up' ? 'wrap_up' : 'redirect')

const wrapUpAllowance = ({ wrapUp, wrapUpRounds }: AgentSettings) =>
  openWrapUp(steerWrapUp, { rounds: wrapUpRounds, maxTokens: wrapUp.maxTokens })

/**
 * The blocks of each event: its text and its attachments. If the event answers open questions of the model, also a block that marks the
 * questions as answered.
 */
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
    const attachments = attached.slice(next, next + attachmentsIn(event).length)
    next += attachments.length
    const resolved = event === answer ? clarificationResolved(timeline, turnId, event.ts) : []
    const blocks = assignIds({ nextBlock }, [draftOf(event, turnId), ...attachmentDrafts(attachments, turnId, event.ts), ...resolved])
    nextBlock += blocks.length
    return blocks
  })
}

function draftOf(event: InboxEvent, turnId: string): Draft {
  const message = { messageId: event.event_id, text: event.text }
  if (event.kind === 'followup' || event.kind === 'steer') return userEventBlock(event.kind, turnId, event.ts, message)
  const source = isObject(event.payload) && typeof event.payload.source === 'string' ? event.payload.source : undefined
  const text = event.kind === 'completion' ? lateResultText(event) : event.text
  return {
    type: 'event.external',
    author: 'system',
    turn_id: turnId,
    ts: event.ts,
    mime: 'text/markdown',
    path: externalPath(turnId, 'event', event.event_id),
    text: source === undefined ? text : `source: ${source}\n${text}`,
    meta: { message_id: event.event_id, ...(source !== undefined && { source }) },
  }
}

/** A late result as text for the model, for a call that has been settled without it. */
function lateResultText({ payload }: InboxEvent): string {
  const { call_id: callId = '', outcome = null } = isObject(payload) ? payload : {}
  const result = JSON.stringify(outcome)
  const shown = cutAt(result, MAX_LATE_RESULT_CHARS)
  return `The result of call ${callId} has arrived:\n${shown}${shown.length < result.length ? '… (cut)' : ''}`
}

const MAX_LATE_RESULT_CHARS = 20_000

function foldedChange(events: readonly InboxEvent[], turnId: string | null, ts: string): readonly Change[] {
  return events.length === 0 ? [] : [{ type: 'event.folded', ts, event_ids: events.map(({ event_id }) => event_id), turn_id: turnId }]
}

/** Removes steers for other turns from the inbox, because those turns have ended. */
const expiredSteers = (events: readonly InboxEvent[], turnId: string, ts: string): readonly Change[] =>
  foldedChange(
    events.filter((event) => !isForTurn(event, turnId)),
    null,
    ts,
  )

/** Whether events are waiting that the turn must answer before it ends. A stop is a steer without text and needs no answer. */
export function hasUnansweredEvents({ inbox }: Timeline, turnId: string): boolean {
  return dueEvents(inbox, turnId).some((event) => needsAnswer(event, turnId) && !isStop(event))
}

/**
 * Commits the changes that end a turn, even if events are waiting. If the user has stopped the turn, the turn first reads the events that
 * were sent before the stop. Otherwise these events would start another turn, although the user wanted to stop.
 */
export async function commitEnd(turn: Turn, progress: Progress, changes: (timeline: Timeline) => readonly Change[]): Promise<void> {
  const { turnId, conversation } = turn
  for (let committed = false; !committed; ) {
    await conversation.ledger.commit((timeline) => {
      committed = !wasStopped(timeline, turnId) || !hasUnansweredEvents(timeline, turnId)
      return committed ? changes(timeline) : []
    })
    if (!committed) await applyInboxEvents(turn, progress)
  }
}

const wasStopped = ({ inbox }: Timeline, turnId: string): boolean => inbox.some((event) => isStop(event) && isForTurn(event, turnId))

/** Whether this event defers an answer that was given before the model had seen the event. */
export const needsAnswer = (event: InboxEvent, turnId: string): boolean => isForTurn(event, turnId) && asksForAnswer(event)

/** Whether an event needs an answer. Every message of a user needs one. An external event needs one only if it is reactive. */
const asksForAnswer = (event: InboxEvent): boolean =>
  event.kind === 'followup' || event.kind === 'steer' || event.kind === 'completion' || extraRoundsOf(event) > 0

/** Removes steers and decisions that came too late for this turn from the inbox, so that they do not affect the next turn. */
export function discardLateSteers({ inbox }: Timeline, ts: string): readonly Change[] {
  return foldedChange(
    inbox.filter(({ kind }) => kind === 'steer' || kind === 'decision'),
    null,
    ts,
  )
}

const clarificationResolvedText = '[STAGE: CLARIFICATION RESOLVED]\nThe message above answers the questions.'

/** The block that marks the open questions of the latest turn as answered by the user's message. Empty when there are no open questions. */
export function clarificationResolved(timeline: Timeline, turnId: string, ts: string): readonly Draft[] {
  return hasOpenQuestions(timeline) ? [stageBlock('clarification.resolved', turnId, ts, clarificationResolvedText)] : []
}

function hasOpenQuestions(timeline: Timeline): boolean {
  const latest = blockAt(timeline, timeline.size - 1)?.turn_id
  for (let position = timeline.size - 1; position >= 0; position--) {
    const block = blockAt(timeline, position)
    if (block?.turn_id !== latest || block?.type === 'stage.clarification.resolved') return false
    if (block?.type === 'stage.clarification') return true
  }
  return false
}
