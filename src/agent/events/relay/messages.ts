import { z } from 'zod'
import type { LaneEvent, StatusEvent } from '../../../core/event.ts'
import type { LivePosition, LivePublished } from '../event-hub.ts'

/** A message between processes. Requests are sent to all processes. Batches are sent to the process that requested them. */
export type RelayMessage =
  /** A process sends this to all processes when it has just connected, because it has missed their requests. */
  | { readonly type: 'connected' }
  | {
      readonly type: 'requests'
      readonly requests: readonly LiveRequest[]
      /** The conversations that have no more followers in the process that sends this. */
      readonly ends: readonly string[]
    }
  | { readonly type: 'batches'; readonly batches: readonly LiveBatch[] }

/**
 * Asks the process that runs a conversation for its live events. `epoch` and `number` identify the last event that arrived. They are 0 if
 * no event has arrived.
 */
export interface LiveRequest extends LivePosition {
  readonly conversationId: string
}

/**
 * Live events of one conversation. A process that has all events up to `after` has all events up to `last` after it has added the events of
 * the batch. Some numbers may be missing, because later events replaced the events with these numbers.
 */
export interface LiveBatch {
  readonly conversationId: string
  readonly epoch: number
  readonly after: number
  readonly last: number
  readonly events: readonly LivePublished[]
}

const id = z.string().min(1).max(4_096)
const shortText = z.string().max(4_096)
const count = z.int().min(0)
const set = z.literal(true).optional()

const laneEvent = z.object({
  type: z.literal('lane.delta'),
  turn_id: id,
  iteration: count,
  attempt: count,
  delta: z.object({
    marker: shortText,
    artifact_name: shortText.optional(),
    format: shortText,
    index: count,
    text: z.string(),
    completed: z.boolean(),
    aborted: set,
    undecided: set,
    as: z.enum(['answer', 'notes']).optional(),
    internal: set,
    extra: z.object({ execution_id: shortText, sub_type: shortText, language: shortText.optional() }).optional(),
  }),
})

const statusEvent = z.object({
  type: z.literal('status'),
  turn_id: id,
  iteration: count,
  status: shortText,
  tool_id: shortText.optional(),
  call_id: shortText.optional(),
  text: shortText.optional(),
  error: z.looseObject({ kind: shortText, message: z.string() }).optional(),
})

/** `texts` are the texts of the following deltas, if they are in the same lane and differ only in their text and their numbers. */
const packedEvent = z.object({
  number: count,
  seq: count,
  event: z.discriminatedUnion('type', [laneEvent, statusEvent]),
  texts: z.array(z.string()).optional(),
})
type PackedEvent = z.infer<typeof packedEvent>

const message = z.discriminatedUnion('type', [
  z.object({ type: z.literal('connected') }),
  z.object({
    type: z.literal('requests'),
    requests: z.array(z.object({ conversation_id: id, epoch: count, number: count })),
    ends: z.array(id),
  }),
  z.object({
    type: z.literal('batches'),
    batches: z.array(z.object({ conversation_id: id, epoch: count, after: count, last: count, events: z.array(packedEvent) })),
  }),
])

/** Writes a message as JSON. */
export function formatMessage(sent: RelayMessage): string {
  if (sent.type === 'connected') return JSON.stringify(sent)
  if (sent.type === 'requests') {
    const requests = sent.requests.map(({ conversationId, epoch, number }) => ({ conversation_id: conversationId, epoch, number }))
    return JSON.stringify({ type: 'requests', requests, ends: sent.ends })
  }
  const batches = sent.batches.map(({ conversationId, events, ...batch }) => ({
    conversation_id: conversationId,
    ...batch,
    events: pack(events),
  }))
  return JSON.stringify({ type: 'batches', batches })
}

/**
 * Reads a message that another process has sent. Undefined if the text is not a valid message. Fields that this version does not know are
 * left out.
 */
export function parseMessage(text: string): RelayMessage | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  const { data } = message.safeParse(value)
  if (data === undefined || data.type === 'connected') return data
  if (data.type === 'requests') {
    const requests = data.requests.map(({ conversation_id: conversationId, epoch, number }) => ({ conversationId, epoch, number }))
    return { type: 'requests', requests, ends: data.ends }
  }
  const batches = data.batches.map(({ conversation_id: conversationId, epoch, after, last, events }) => ({
    conversationId,
    epoch,
    after,
    last,
    events: events.flatMap((packed) => unpack(packed, epoch)),
  }))
  return { type: 'batches', batches }
}

/** The pieces of an answer differ only in their text, so most of them are sent as a text alone. */
function pack(events: readonly LivePublished[]): readonly object[] {
  const packed: { number: number; seq: number; event: LivePublished['event']; texts?: string[] }[] = []
  let previous: LivePublished | undefined
  for (const published of events) {
    const { number, seq, event } = published
    const last = packed.at(-1)
    if (last && previous && event.type === 'lane.delta' && continuesLane(previous, published)) {
      last.texts ??= []
      last.texts.push(event.delta.text)
    } else packed.push({ number, seq, event })
    previous = published
  }
  return packed
}

function continuesLane(before: LivePublished, after: LivePublished): boolean {
  if (before.event.type !== 'lane.delta' || after.event.type !== 'lane.delta') return false
  if (after.number !== before.number + 1 || after.seq !== before.seq) return false
  const [one, two] = [before.event, after.event]
  if (one.turn_id !== two.turn_id || one.iteration !== two.iteration || one.attempt !== two.attempt) return false
  const { index, text: _before, ...style } = one.delta
  const { index: next, text: _after, ...nextStyle } = two.delta
  return next === index + 1 && isSameStyle(style, nextStyle)
}

type Style = Omit<LaneEvent['delta'], 'index' | 'text'>

function isSameStyle({ extra, ...one }: Style, { extra: otherExtra, ...two }: Style): boolean {
  if (extra !== otherExtra && JSON.stringify(extra) !== JSON.stringify(otherExtra)) return false
  const names = Object.keys(one) as (keyof typeof one)[]
  return names.length === Object.keys(two).length && names.every((name) => one[name] === two[name])
}

function unpack({ number, seq, event: parsed, texts = [] }: PackedEvent, epoch: number): readonly LivePublished[] {
  // The cast is not exact: a newer version may send statuses and formats that this version does not know. They are passed on unchanged.
  const event = parsed as LaneEvent | StatusEvent
  const first: LivePublished = { event, seq, epoch, number }
  if (event.type !== 'lane.delta') return [first]
  const { delta } = event
  const following = texts.map((text, index) => ({
    event: { ...event, delta: { ...delta, index: delta.index + index + 1, text } },
    seq,
    epoch,
    number: number + index + 1,
  }))
  return [first, ...following]
}
