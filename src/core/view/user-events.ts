import type { EntryEvent, TurnEvent } from '../event.ts'
import type { ServiceError } from '../model-event.ts'
import { parseConversationKey } from '../scope.ts'
import { budgetKindOf } from '../shared-budget.ts'
import type { Change, ResponseReceived, Wait } from '../timeline/change.ts'
import { isMessage } from '../timeline/inbox-event.ts'
import { blocksForUser, type UserView } from './user-blocks.ts'

/**
 * Returns a function that gives each event as a user may see it, or undefined when the user may not see it. No entry is left out, and each
 * keeps its `seq`. Therefore the client of a user can notice missing entries and resume after any entry. If several users follow a
 * conversation, each entry is filtered only once.
 */
export function createUserFilter(view: UserView): (event: TurnEvent) => TurnEvent | undefined {
  const entries = new WeakMap<EntryEvent, EntryEvent>()
  return (event) => {
    if (event.type === 'status') return event.error ? { ...event, error: withoutDetail(event.error) } : event
    if (event.type === 'lane.delta') {
      const { internal, marker } = event.delta
      return internal || (marker === 'thinking' && view.thinking === 'withheld') ? undefined : event
    }
    let shown = entries.get(event)
    if (shown === undefined) {
      const change = changeForUser(event.change, view)
      shown = change === event.change ? event : { type: 'entry', seq: event.seq, change }
      entries.set(event, shown)
    }
    return shown
  }
}

/**
 * A change as a user may see it. Changes with text are built field by field, so that a field that is added later is not sent to users by
 * mistake.
 */
export function changeForUser(change: Change, view: UserView): Change {
  switch (change.type) {
    case 'blocks.appended':
    case 'blocks.inserted':
    case 'range.compacted': {
      const blocks = blocksForUser(change.blocks, view)
      return blocks === change.blocks ? change : { ...change, blocks }
    }
    case 'timeline.imported':
      return { ...change, timeline: { ...change.timeline, blocks: blocksForUser(change.timeline.blocks, view) } }
    case 'blocks.hidden':
      return { ...change, replacement_text: '' } // the agent wrote this text for itself, and it may repeat the hidden content
    case 'response.received':
      return responseForUser(change)
    case 'event.accepted': {
      const { event_id, sequence, kind, ts, target_turn_id } = change.event
      const text = isMessage(change.event) ? change.event.text : ''
      return { type: change.type, event: { event_id, sequence, kind, ts, text, ...(target_turn_id !== undefined && { target_turn_id }) } }
    }
    case 'call.finished': {
      const { type, turn_id, ts, call_id, outcome } = change
      // The blocks of the result follow in a later entry, and are filtered there.
      return { type, turn_id, ts, call_id, outcome: { ok: outcome.ok } }
    }
    case 'turn.opened':
      return { type: change.type, turn_id: change.turn_id, ts: change.ts }
    case 'turn.waiting': {
      const { type, turn_id, ts, waits, active } = change
      return { type, turn_id, ts, waits: waits.map(waitForUser), ...(active && { active }) }
    }
    case 'turn.closed':
    case 'turn.resumed':
    case 'blocks.revealed':
    case 'sources.merged':
    case 'sources.used':
    case 'source.removed':
    case 'title.set':
    case 'event.folded':
    case 'feedback.seen':
    case 'call.repeated':
      return change
    default:
      return newerForUser(change satisfies never)
  }
}

/** A change that a newer version of Daybook has written. It may contain internal text, so a user gets only its type and time. */
function newerForUser({ type, ts }: { readonly type: string; readonly ts?: unknown }): Change {
  return { type, ...(typeof ts === 'string' && { ts }) } as unknown as Change // `Change` has no such type; readers pass on changes of unknown types
}

/**
 * The question of a wait, as a user may read it. The question about a budget says how much is left in the budget. If other users share the
 * budget, a fixed question is used instead, because the original one would tell the user what others have spent.
 */
export function questionForUser({ question, budget }: Pick<Wait, 'question' | 'budget'>): string | undefined {
  const kind = budget === undefined ? 'user' : budgetKindOf(budget)
  return question === undefined || kind === 'user' || kind === 'conversation' ? question : SHARED_BUDGET_QUESTION
}

const SHARED_BUDGET_QUESTION = 'A budget that you share with other users is used up. May it have more?'

/** A wait without the hash of its token. */
function waitForUser({ wait_id, kind, call_id, expires_at, approver, schema, child_id, ...wait }: Wait): Wait {
  const question = questionForUser(wait)
  return {
    wait_id,
    kind,
    ...(call_id !== undefined && { call_id }),
    ...(question !== undefined && { question }),
    ...(expires_at !== undefined && { expires_at }),
    ...(approver !== undefined && { approver }),
    ...(schema !== undefined && { schema }),
    ...(child_id !== undefined && { child_id: parseConversationKey(child_id).name }),
  }
}

/**
 * A response without the text that the model wrote, and without the record of the prompt. The record has hashes of the blocks in the
 * prompt, and may hold their text.
 */
function responseForUser(response: ResponseReceived): ResponseReceived {
  const { type, turn_id, ts, iteration, call_id, role, finish_reason, usage, prompt, error, wrap_up } = response
  return {
    type,
    turn_id,
    ts,
    iteration,
    call_id,
    ...(role !== undefined && { role }),
    raw: '',
    finish_reason,
    ...(usage && { usage }),
    ...(prompt?.model !== undefined && { prompt: { model: prompt.model } }),
    ...(error && { error: withoutDetail(error) }),
    ...(wrap_up !== undefined && { wrap_up }),
  }
}

/** An error without the words of the provider, which may quote the prompt. */
function withoutDetail({ context: _context, ...error }: ServiceError): ServiceError {
  return { ...error, message: `The model call failed (${error.kind}).` }
}
