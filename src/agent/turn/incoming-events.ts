import { type Attachment, type Block, type Draft, stageBlock, userEventBlock } from '../../core/block/index.ts'
import { extraRoundsOf, grantExtraRounds, openWrapUp, steerWrapUp } from '../../core/budget.ts'
import { isObject } from '../../core/json.ts'
import { externalPath } from '../../core/path/build.ts'
import type { Change, InboxEvent } from '../../core/timeline/change.ts'
import { assignIds, blockAt, type Timeline } from '../../core/timeline/timeline.ts'
import type { AgentSettings } from '../settings.ts'
import { assignUniqueNames, attachedSources, attachmentDrafts, attachmentsIn, hostIfPossible } from './attachments.ts'
import type { Progress } from './round.ts'
import type { Turn } from './turn.ts'

/** Takes the waiting events into the turn, in order. They become blocks that the model reads, and some of them add rounds. */
export async function applyInboxEvents(turn: Turn, before: Progress): Promise<Progress> {
  const due = dueEvents(turn.conversation.inbox.waiting, turn.turnId)
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
  if (withdrawn) return applyInboxEvents(turn, before) // a message was withdrawn after `due` was made
  for (const [index, event] of own.entries()) {
    await agent.hooks.onExternalEvent({ type: event.kind, event, blocks: blocks[index] ?? [] })
  }
  return own.reduce((progress, event) => applyEvent(progress, event, agent.settings), before)
}

/** The waiting events that this turn takes in, in order of acceptance. Events after the last stop are left for the next turn. */
function dueEvents(waiting: readonly InboxEvent[], turnId: string): readonly InboxEvent[] {
  const events = waiting.filter(({ kind }) => kind !== 'feedback').sort((a, b) => a.sequence - b.sequence)
  const stop = events.findLastIndex((event) => isStop(event) && isForTurn(event, turnId))
  return stop === -1 ? events : events.slice(0, stop + 1)
}

/** Whether this turn may read an event. A steer is for one turn only. Every other event is for the turn that reads it first. */
function isForTurn(event: InboxEvent, turnId: string): boolean {
  return event.kind !== 'steer' || event.target_turn_id === undefined || event.target_turn_id === turnId
}

/** Whether the event aborts the current activity of the turn. */
export const interruptsTurn = (event: InboxEvent, turnId: string): boolean => event.kind === 'steer' && isForTurn(event, turnId)

const isStop = (event: InboxEvent): boolean => event.kind === 'steer' && event.text.trim() === ''

/** The effect of an event on the turn that it has become part of. */
export function applyEvent(progress: Progress, event: InboxEvent, settings: AgentSettings): Progress {
  const events = [...progress.events, { kind: event.kind, ts: event.ts, text: event.text }]
  if (isStop(event)) return { ...progress, events, stopped: true }
  if (event.kind === 'steer')
    return modeOf(event) === 'wrap_up' ? { ...progress, events, wrapUp: wrapUpAllowance(settings) } : { ...progress, events }
  const budget = grantExtraRounds(progress.budget, event.event_id, extraRoundsOf(event))
  if (event.kind !== 'followup') return { ...progress, events, budget }
  const { wrapUp: _ended, ...rest } = progress // a followup ends the wrap-up: there is something new to answer
  return { ...rest, events, budget }
}

const modeOf = (event: InboxEvent) => (isObject(event.payload) && event.payload.mode === 'wrap_up' ? 'wrap_up' : 'redirect')

const wrapUpAllowance = ({ wrapUp, wrapUpRounds }: AgentSettings) =>
  openWrapUp(steerWrapUp, { rounds: wrapUpRounds, maxTokens: wrapUp.maxTokens })

/** The blocks of each event: its text, its attachments, and the end of a clarification that it answers. */
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

/** Removes steers for other turns from the inbox: those turns have ended. */
const expiredSteers = (events: readonly InboxEvent[], turnId: string, ts: string): readonly Change[] =>
  foldedChange(
    events.filter((event) => !isForTurn(event, turnId)),
    null,
    ts,
  )

/** Whether events are waiting that the turn must answer before it ends. A stop needs no answer. */
export function hasUnansweredEvents({ inbox }: Timeline, turnId: string): boolean {
  return dueEvents(inbox, turnId).some((event) => needsAnswer(event, turnId) && !isStop(event))
}

/**
 * Commits the changes that end a turn, even if events are waiting. One exception: if the user has stopped the turn, the events sent before
 * the stop are taken in first. Otherwise they would start another turn, although the user wanted to stop.
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

/** Whether the event defers an answer that the model gave without having seen it. */
export const needsAnswer = (event: InboxEvent, turnId: string): boolean => isForTurn(event, turnId) && asksForAnswer(event)

/** Whether an event needs an answer: every message of a user does, an external event only when it is reactive. */
const asksForAnswer = (event: InboxEvent): boolean => event.kind === 'followup' || event.kind === 'steer' || extraRoundsOf(event) > 0

/** Removes steers that came too late for this turn: they must not affect the next one. */
export function discardLateSteers({ inbox }: Timeline, ts: string): readonly Change[] {
  return foldedChange(
    inbox.filter(({ kind }) => kind === 'steer'),
    null,
    ts,
  )
}

const clarificationResolvedText = '[STAGE: CLARIFICATION RESOLVED]\nThe message above answers the questions.'

/** The block that marks the open questions of the latest turn as answered by the user's message. None when there are no open questions. */
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
