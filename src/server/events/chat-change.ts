import { type Block, readPlan, readToolCall } from '../../core/block/index.ts'
import { replaceBatch } from '../../core/citations/replace.ts'
import { citable } from '../../core/sources/eligible.ts'
import type { SourceRow } from '../../core/sources/source.ts'
import { type Change, changeTime, type ResponseReceived, type TurnClosed } from '../../core/timeline/change.ts'
import type { ChatRoute, ChatStatus, Said } from './chat-envelope.ts'

/** A change in the words of chat clients: any number of events, all of them derived, so whoever reads the journal later hears the same. */
export function saidOf(change: Change, sources: ReadonlyMap<number, SourceRow>): readonly Said[] {
  const timestamp = changeTime(change) ?? epoch
  switch (change.type) {
    case 'turn.opened':
      return [status('in_progress', change.turn_id, timestamp)]
    case 'turn.closed':
      return closed(change)
    case 'title.set':
      return [step('chat.conversation.title', 'conversation_title', 'completed', null, timestamp, { title: change.title })]
    case 'response.received':
      return heard(change)
    case 'sources.used':
      return [citations(change.sids, timestamp, sources)]
    case 'event.accepted': {
      const { event_id, kind, text, target_turn_id = null } = change.event
      return [service(`timeline.external.${kind}.accepted`, 'update', target_turn_id, timestamp, { event_id, kind, text })]
    }
    case 'event.folded':
      return [service('timeline.external.folded', 'completed', change.turn_id, timestamp, { event_ids: change.event_ids })]
    case 'range.compacted':
      return [compacted(change, timestamp)]
    case 'blocks.appended':
      return ofBlocks(change.blocks, sources)
    default:
      return [] // what only changes how the model sees the past
  }
}

const epoch = new Date(0).toISOString()

function said(
  type: string,
  [name, state]: readonly [string, ChatStatus],
  turnId: string | null,
  timestamp: string,
  data: Said['data'],
  route: ChatRoute,
): Said {
  return { type, event: { agent: 'react', step: name, status: state }, turnId, timestamp, data, route }
}

const step = (type: string, name: string, state: ChatStatus, turnId: string | null, timestamp: string, data: Said['data']) =>
  said(type, [name, state], turnId, timestamp, data, 'chat_step')

const service = (type: string, state: ChatStatus, turnId: string | null, timestamp: string, data: Said['data']) =>
  said(type, [type, state], turnId, timestamp, data, 'chat_service')

const status = (state: 'in_progress' | 'idle' | 'error', turnId: string, timestamp: string, more: Said['data'] = {}) =>
  said(
    'conv.status',
    ['conversation', state === 'error' ? 'error' : 'update'],
    turnId,
    timestamp,
    {
      state,
      updated_at: timestamp,
      current_turn_id: state === 'in_progress' ? turnId : null,
      ...more,
    },
    'conv_status',
  )

function closed({ turn_id, ts, exit_reason, sources_used = [] }: TurnClosed): readonly Said[] {
  const broken = exit_reason === 'error' || exit_reason === 'protocol_violation'
  const data = { exit_reason, citation_count: sources_used.length }
  return [
    step('chat.conversation.turn.completed', 'turn', broken ? 'error' : 'completed', turn_id, ts, data),
    ...(broken ? [said('chat.error', ['turn', 'error'], turn_id, ts, { error: apology, error_type: exit_reason }, 'chat_error')] : []),
    status(broken ? 'error' : 'idle', turn_id, ts, { completion: exit_reason === 'steer' ? 'interrupted' : 'completed' }),
  ]
}

const apology = 'The turn could not be finished. What was done so far is kept.'

function heard({ turn_id, ts, iteration, role, finish_reason, usage, prompt }: ResponseReceived): readonly Said[] {
  const model = prompt?.model ?? null
  const decision =
    role === undefined ? [step('solver.react.decision', `react(${iteration}).decision`, 'completed', turn_id, ts, { finish_reason })] : []
  const bill = usage ? [service('accounting.usage', 'completed', turn_id, ts, { role: role ?? 'decision', model, usage })] : []
  return [...decision, ...bill]
}

function citations(sids: readonly number[], timestamp: string, sources: ReadonlyMap<number, SourceRow>): Said {
  const items = sids.flatMap((sid) => {
    const row = sources.get(sid)
    if (!row || !citable(row)) return []
    const { content: _content, base64: _base64, ...shown } = row as SourceRow & { content?: unknown; base64?: unknown }
    return [{ ...shown, used: true }]
  })
  return step('chat.citations', 'citations', 'completed', null, timestamp, { count: items.length, items })
}

function compacted(change: Change & { type: 'range.compacted' }, timestamp: string): Said {
  const data = { kind: 'range', covered_turns: change.covered.length }
  return said('chat.compaction', ['compaction', 'completed'], change.blocks.at(-1)?.turn_id ?? null, timestamp, data, 'chat_compaction')
}

function ofBlock(block: Block): readonly Said[] {
  const { turn_id: turnId, ts, text = '', meta } = block
  switch (block.type) {
    case 'user.prompt':
      return [said('chat.start', ['turn', 'started'], turnId, ts, { message: text }, 'chat_start')]
    case 'react.tool.call': {
      const call = readToolCall(block)
      return call ? [service('react.tool.call', 'started', turnId, ts, { ...call, iteration: meta?.iteration ?? null })] : []
    }
    case 'react.tool.result':
      return [...fileOf(block), service('react.tool.result', 'completed', turnId, ts, resultOf(block))]
    case 'react.plan':
      return [step('react.plan', 'plan', 'update', turnId, ts, { plan: readPlan(block) ?? null })]
    case 'stage.clarification':
      return [step('chat.clarification_questions', 'clarification', 'completed', turnId, ts, { items: meta?.questions ?? [] })]
    case 'stage.suggested_followups':
      return [step('chat.followups', 'followups', 'completed', turnId, ts, { items: meta?.items ?? [] })]
    default:
      return []
  }
}

const resultOf = ({ path, mime, call_id, text }: Block) => ({ tool_call_id: call_id ?? null, path: path ?? null, mime: mime ?? null, text })

function fileOf({ turn_id, ts, path, mime, meta }: Block): readonly Said[] {
  if (meta?.rn === undefined) return []
  const filename = path?.split('/').at(-1) ?? ''
  const item = { filename, mime: mime ?? null, size: meta.size_bytes ?? null, rn: meta.rn, logical_path: path ?? null, ts }
  return [step('chat.files', 'files', 'completed', turn_id, ts, { count: 1, items: [item] })]
}

/** The last completion of a turn is its answer; the ones before it were told in their time. */
function ofBlocks(blocks: readonly Block[], sources: ReadonlyMap<number, SourceRow>): readonly Said[] {
  const answer = blocks.findLast(({ type }) => type === 'assistant.completion')
  return blocks.flatMap((block) => (block === answer ? [completed(answer, blocks, sources)] : ofBlock(block)))
}

/** Citations are replaced on the way out, as they were while the answer was being written. */
function completed({ text = '', turn_id, ts, meta }: Block, blocks: readonly Block[], sources: ReadonlyMap<number, SourceRow>): Said {
  const followups = blocks.find(({ type }) => type === 'stage.suggested_followups')?.meta?.items
  const data = {
    final_answer: replaceBatch(text, sources, { keepUnresolved: false }),
    sources_used: meta?.sources_used ?? [],
    ...(Array.isArray(followups) && { followups }),
    ...(meta?.truncated === true && { truncated: true }),
  }
  return said('chat.complete', ['turn', 'completed'], turn_id, ts, data, 'chat_complete')
}
