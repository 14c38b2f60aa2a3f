import { type Block, readToolCall } from '../../core/block/index.ts'
import { replaceBatch } from '../../core/citations/replace.ts'
import type { LaneEvent, TurnEvent } from '../../core/event.ts'
import { isObject, parseJson } from '../../core/json.ts'
import type { SourceRow } from '../../core/sources/source.ts'
import { isCitable } from '../../core/sources/source.ts'
import { blocksOfChange, type Change } from '../../core/timeline/change.ts'

/** A turn reduced to text, tool calls, sources and files, for chat protocols that know nothing else. */
export type SimplifiedEvent =
  | { readonly kind: 'turn.start'; readonly turnId: string }
  | { readonly kind: 'text'; readonly of: 'thinking' | 'answer'; readonly id: string; readonly text: string }
  | { readonly kind: 'text.end'; readonly of: 'thinking' | 'answer'; readonly id: string }
  | { readonly kind: 'call'; readonly callId: string; readonly toolId: string; readonly params: unknown }
  | { readonly kind: 'result'; readonly callId: string; readonly text: string; readonly failed: boolean }
  | { readonly kind: 'source'; readonly row: SourceRow & { readonly url: string } }
  | { readonly kind: 'file'; readonly rn: string; readonly mime: string; readonly filename: string }
  | { readonly kind: 'turn.end'; readonly turnId: string; readonly exitReason: string; readonly ok: boolean }

const failedExitReasons: ReadonlySet<string> = new Set(['error', 'protocol_violation', 'cancelled'])

/**
 * Maps events to simplified events, in order. Text is streamed from deltas; when its entry comes, the text is skipped if it was streamed
 * and sent as a whole if it was not. These protocols cannot withdraw text, so a retried text becomes a new message.
 */
export function createEventSimplifier(sources: Iterable<SourceRow>): (event: TurnEvent) => readonly SimplifiedEvent[] {
  const pool = new Map([...sources].map((row) => [row.sid, row]))
  const streamed = new Set<string>()
  let open: { readonly of: 'thinking' | 'answer'; readonly id: string } | undefined

  const closeText = (): readonly SimplifiedEvent[] => {
    const ended = open
    open = undefined
    return ended ? [{ kind: 'text.end', ...ended }] : []
  }

  function fromDelta({ turn_id, iteration, attempt, delta }: LaneEvent): readonly SimplifiedEvent[] {
    const of = delta.marker
    if (of !== 'thinking' && of !== 'answer') return []
    const id = `${turn_id}.${iteration}.${of}.${attempt}`
    const before = open?.id === id ? [] : closeText()
    if (delta.text !== '') streamed.add(`${turn_id}.${iteration}.${of}`)
    if (delta.text !== '') open = { of, id }
    const text: readonly SimplifiedEvent[] = delta.text === '' ? [] : [{ kind: 'text', of, id, text: delta.text }]
    return [...before, ...text, ...(delta.completed ? closeText() : [])]
  }

  function wholeText(of: 'thinking' | 'answer', block: Block): readonly SimplifiedEvent[] {
    const key = `${block.turn_id}.${block.meta?.iteration ?? 0}.${of}`
    const text = of === 'answer' ? replaceBatch(block.text ?? '', pool, { keepUnresolved: false }) : (block.text ?? '')
    if (streamed.has(key) || text === '') return []
    streamed.add(key)
    return [...closeText(), { kind: 'text', of, id: key, text }, { kind: 'text.end', of, id: key }]
  }

  function fromBlock(block: Block): readonly SimplifiedEvent[] {
    switch (block.type) {
      case 'react.thinking':
        return wholeText('thinking', block)
      case 'assistant.completion':
        return wholeText('answer', block)
      case 'react.tool.call': {
        const call = readToolCall(block)
        return call ? [...closeText(), { kind: 'call', callId: call.tool_call_id, toolId: call.tool_id, params: call.params }] : []
      }
      case 'react.tool.result':
        return [...fileEvents(block), ...resultEvents(block)]
      default:
        return []
    }
  }

  function fromChange(change: Change): readonly SimplifiedEvent[] {
    switch (change.type) {
      case 'turn.opened':
        return [...closeText(), { kind: 'turn.start', turnId: change.turn_id }]
      case 'blocks.appended':
        return change.blocks.flatMap(fromBlock)
      case 'sources.merged':
        for (const row of change.rows) pool.set(row.sid, row)
        return []
      case 'sources.used':
        return change.sids.flatMap((sid) => sourceEvents(pool.get(sid)))
      case 'turn.closed': {
        const { turn_id: turnId, exit_reason: exitReason } = change
        return [...closeText(), { kind: 'turn.end', turnId, exitReason, ok: !failedExitReasons.has(exitReason) }]
      }
      default:
        return []
    }
  }

  return (event) => {
    if (event.type === 'entry') return fromChange(event.change)
    return event.type === 'lane.delta' ? fromDelta(event) : []
  }
}

function sourceEvents(row: SourceRow | undefined): readonly SimplifiedEvent[] {
  return row?.url !== undefined && isCitable(row) ? [{ kind: 'source', row: { ...row, url: row.url } }] : []
}

function fileEvents({ meta, path = '', mime = 'application/octet-stream' }: Block): readonly SimplifiedEvent[] {
  return meta?.rn === undefined ? [] : [{ kind: 'file', rn: meta.rn, mime, filename: path.split('/').at(-1) ?? path }]
}

/** Only blocks at the call's own path (`tc:`) are its result; artifacts have other paths. */
function resultEvents({ call_id: callId, path, text }: Block): readonly SimplifiedEvent[] {
  if (callId === undefined || text === undefined || !path?.startsWith('tc:')) return []
  const value = parseJson(text)
  return [{ kind: 'result', callId, text, failed: isObject(value) && value.ok === false }]
}

/** The turn of an event; empty for entries that belong to no turn. */
export function turnIdOf(event: TurnEvent): string {
  if (event.type !== 'entry') return event.turn_id
  const { change } = event
  if ('turn_id' in change && typeof change.turn_id === 'string') return change.turn_id
  return blocksOfChange(change)[0]?.turn_id ?? ''
}
