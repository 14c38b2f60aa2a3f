import { type Draft, userEvent } from '../core/block/index.ts'
import { creditOf, grant } from '../core/budget.ts'
import { openWrapUp, steerWrapUp } from '../core/decision/wrap-up.ts'
import { isObject } from '../core/json.ts'
import { externalPath } from '../core/path/build.ts'
import type { Change, InboxEvent } from '../core/timeline/change.ts'
import type { Timeline } from '../core/timeline/timeline.ts'
import { append } from './ledger.ts'
import type { Progress } from './progress.ts'
import type { AgentSettings } from './settings.ts'
import type { Turn } from './turn.ts'

/** Takes what waits in the inbox into the turn, in order: as blocks for the model to read, and as credit to answer with. */
export async function foldEvents(turn: Turn, before: Progress): Promise<Progress> {
  const waiting = turn.inbox.waiting.filter(({ kind }) => kind !== 'feedback')
  if (waiting.length === 0) return before
  const ts = turn.clock.now()
  const mine = waiting.filter((event) => isMine(event, turn.turnId))
  const expired = waiting.filter((event) => !isMine(event, turn.turnId))
  await turn.ledger.commit(
    append(
      mine.flatMap((event) => draftOf(event, turn.turnId)),
      ...folded(mine, turn.turnId, ts),
      ...folded(expired, null, ts),
    ),
  )
  for (const event of mine) await turn.hooks.onExternalEvent(event)
  return mine.reduce((progress, event) => take(progress, event, turn.settings), before)
}

/** A steer meant for another turn is not carried over to this one; everything else is. */
function isMine(event: InboxEvent, turnId: string): boolean {
  return event.kind !== 'steer' || event.target_turn_id === undefined || event.target_turn_id === turnId
}

export const isStop = (event: InboxEvent): boolean => event.kind === 'steer' && event.text.trim() === ''

/** What an event means for the turn that it has become part of. */
export function take(progress: Progress, event: InboxEvent, settings: AgentSettings): Progress {
  const events = [...progress.events, { kind: event.kind, ts: event.ts, text: event.text }]
  if (isStop(event)) return { ...progress, events, stopped: true }
  if (event.kind !== 'steer') {
    const { wrapUp: _over, ...resumed } = progress // something new to answer: the normal budget is back
    return { ...resumed, events, budget: grant(progress.budget, event.event_id, creditOf(event)) }
  }
  if (modeOf(event) !== 'wrap_up') return { ...progress, events }
  return { ...progress, events, wrapUp: openWrapUp(steerWrapUp, { rounds: settings.wrapUpRounds, maxTokens: settings.wrapUp.maxTokens }) }
}

const modeOf = (event: InboxEvent) => (isObject(event.payload) && event.payload.mode === 'wrap_up' ? 'wrap_up' : 'redirect')

function draftOf(event: InboxEvent, turnId: string): readonly Draft[] {
  const said = { messageId: event.event_id, text: event.text }
  if (event.kind === 'followup' || event.kind === 'steer') return [userEvent(event.kind, turnId, event.ts, said)]
  const path = externalPath(turnId, event.kind, event.event_id)
  return [{ type: 'event.external', author: 'system', turn_id: turnId, ts: event.ts, mime: 'text/markdown', path, text: event.text }]
}

function folded(events: readonly InboxEvent[], turnId: string | null, ts: string): readonly Change[] {
  return events.length === 0 ? [] : [{ type: 'event.folded', ts, event_ids: events.map(({ event_id }) => event_id), turn_id: turnId }]
}

/** Something a running turn should still look at before it ends. */
export const hasNews = (timeline: Timeline): boolean => timeline.inbox.some(({ kind }) => kind !== 'feedback')
