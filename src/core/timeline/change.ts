import type { BlobRef, Block, HiddenReason, HiddenScope } from '../block/block.ts'
import type { ServiceError } from '../model-event.ts'
import type { SourceRow } from '../sources/source.ts'
import type { TimelinePayload } from './payload.ts'

/** Everything that can change a timeline. The journal of a conversation is a list of changes, one per row. */
export type Change =
  | TurnOpened
  | TurnClosed
  | BlocksAppended
  /** Inserts blocks after an older one: feedback on an old turn, or a checkpoint inside the running turn. Turn logs do not contain them. */
  | { readonly type: 'blocks.inserted'; readonly after_id: string; readonly blocks: readonly Block[] }
  /** Replaces all visible blocks up to and including `after_id` by `blocks`: the summary and the blocks that it preserves. */
  | { readonly type: 'range.compacted'; readonly after_id: string; readonly blocks: readonly Block[]; readonly covered: readonly string[] }
  | BlocksHidden
  | { readonly type: 'blocks.revealed'; readonly ids: readonly string[] }
  | ResponseReceived
  /** `rows` are the new and changed sources in their new state. `next_sid` never decreases. */
  | { readonly type: 'sources.merged'; readonly ts: string; readonly rows: readonly SourceRow[]; readonly next_sid: number }
  | { readonly type: 'sources.used'; readonly ts: string; readonly sids: readonly number[] }
  | { readonly type: 'source.removed'; readonly ts: string; readonly sid: number }
  | { readonly type: 'title.set'; readonly ts: string; readonly title: string }
  | { readonly type: 'event.accepted'; readonly event: InboxEvent }
  /** These events leave the inbox because they became part of a turn. `turn_id` is null when they expired or were withdrawn. */
  | { readonly type: 'event.folded'; readonly ts: string; readonly event_ids: readonly string[]; readonly turn_id: string | null }
  | { readonly type: 'feedback.seen'; readonly ts: string; readonly until: string }
  /** Sets the visible state of an imported conversation. Occurs only in an empty timeline or after imported turns. */
  | { readonly type: 'timeline.imported'; readonly timeline: TimelinePayload; readonly next_block: number }

/** A turn has begun. */
export interface TurnOpened {
  readonly type: 'turn.opened'
  readonly turn_id: string
  readonly ts: string
}

/** A turn has ended. */
export interface TurnClosed {
  readonly type: 'turn.closed'
  readonly turn_id: string
  readonly ts: string
  readonly exit_reason: string
  /** The sids that the turn's completions and artifacts cite. */
  readonly sources_used?: readonly number[]
  readonly tokens?: number
}

/** Adds blocks at the end. */
export interface BlocksAppended {
  readonly type: 'blocks.appended'
  readonly blocks: readonly Block[]
}

/** Hides the blocks of a path. The replacement text is shown once, in the place of the first block. */
export interface BlocksHidden {
  readonly type: 'blocks.hidden'
  readonly ids: readonly string[]
  readonly replacement_text: string
  readonly reason: HiddenReason
  readonly scope?: HiddenScope
}

/** The raw output of a model call, its usage and a record of its prompt. Replay and recovery use it; the model never sees it. */
export interface ResponseReceived {
  readonly type: 'response.received'
  readonly turn_id: string
  readonly ts: string
  readonly iteration: number
  readonly call_id: string
  /** The purpose of the call; absent for a decision of the turn. */
  readonly role?: 'gate' | 'compaction'
  readonly raw: string
  readonly finish_reason: string
  readonly usage?: Usage
  readonly prompt?: PromptRecord
  /** The failure of the provider, if one made the output incomplete. */
  readonly error?: ServiceError
  /** Earlier attempts of the same call that cost tokens but failed before any output was shown. */
  readonly retried?: readonly RetriedAttempt[]
  /** The limit that was reached, when the model was asked to end the turn with an answer. */
  readonly wrap_up?: ReachedLimit
  /** The hash of the request, for a summary. A later plan that makes the same request uses this response. */
  readonly request_hash?: number
}

/** A limit of a turn. When it is reached, the model is asked for a last answer. */
export type ReachedLimit = 'rounds' | 'time' | 'money'

/** A failed attempt of a model call, and what it cost. */
export interface RetriedAttempt {
  readonly usage: Usage
  readonly model?: string
  /** The provider did not report the usage, so it is an estimate. */
  readonly estimated?: true
}

/**
 * Tokens as billed by the provider. `uncached`, `cache_read`, `cache_write` and `output` do not overlap; `cache_write_long` and `reasoning`
 * are parts of them.
 */
export interface Usage {
  readonly uncached: number
  readonly cache_read: number
  readonly cache_write: number
  /** The part of `cache_write` that was cached for an hour. */
  readonly cache_write_long?: number
  readonly output: number
  readonly reasoning?: number
}

/** Hashes of a prompt. They suffice to explain a cache miss and to check a replay. Its text is stored only when `recordPrompts` is set. */
export interface PromptRecord {
  readonly model?: string
  /** The positions of the parts with a cache mark, among the parts of the message. */
  readonly marks?: readonly number[]
  /** For each mark, the position of the last block before it, among the shown blocks. */
  readonly points?: readonly number[]
  /** For each mark, the hash of all parts up to and including its own. The system text is not included. */
  readonly segments?: readonly number[]
  readonly system?: SystemFingerprint
  /** The end of the prompt after the last block (sources and announcement): its length, and its text when `recordPrompts` is set. */
  readonly tail?: { readonly size: number; readonly text?: string }
  readonly shown?: ShownFingerprints
  readonly estimated_tokens?: number
  readonly cache_ttl_seconds?: number | null
}

/** The hash of the system text, the hash of the tool catalogue in it, and the length of the text in characters. */
export interface SystemFingerprint {
  readonly hash: number
  readonly tools: number
  readonly size: number
}

/**
 * A short hash of each shown block from position `from` on. The blocks before `from` are the same as in the previous prompt. Their hashes
 * are not stored again.
 */
export interface ShownFingerprints {
  readonly from: number
  readonly hashes: readonly number[]
  /** One hash of all shown blocks, from the first block on. */
  readonly chain: number
  /** The rendered blocks, when `recordPrompts` is set. With them a replay can name the first byte that differs. */
  readonly texts?: readonly string[]
}

/** An event from outside that waits to become part of a turn. */
export interface InboxEvent {
  readonly event_id: string
  readonly sequence: number
  readonly kind: 'followup' | 'steer' | 'feedback' | 'external'
  readonly ts: string
  readonly text: string
  readonly target_turn_id?: string
  readonly payload?: unknown
  /** The blobs that the payload refers to. They must live as long as the entry. */
  readonly keeps?: readonly BlobRef[]
}

/** The time of a change, as recorded in it. */
export function changeTime(change: Change): string | undefined {
  switch (change.type) {
    case 'blocks.appended':
    case 'blocks.inserted':
    case 'range.compacted':
      return change.blocks.at(-1)?.ts
    case 'blocks.hidden':
    case 'blocks.revealed':
      return undefined // the store then uses the time of the change before
    case 'event.accepted':
      return change.event.ts
    case 'timeline.imported':
      return change.timeline.ts ?? undefined
    default:
      return change.ts
  }
}

/** The blocks that a change contains. */
export function blocksOfChange(change: Change): readonly Block[] {
  switch (change.type) {
    case 'blocks.appended':
    case 'blocks.inserted':
    case 'range.compacted':
      return change.blocks
    case 'timeline.imported':
      return change.timeline.blocks
    default:
      return noBlocks
  }
}

const noBlocks: readonly Block[] = []

/**
 * Whether an entry holds what the live output of a round showed, so that it replaces the live output. The blocks of a decision do. Its
 * response, which may be entered earlier, does not, unless it was interrupted: then there may be no block.
 */
export function endsLiveOutput(change: Change): boolean {
  if (change.type === 'response.received') return change.role === undefined && change.finish_reason === 'interrupted'
  return change.type === 'blocks.appended' && change.blocks.some(isOfDecision)
}

const isOfDecision = ({ type, meta }: Block): boolean => (type === 'react.notice' ? meta?.rel === 'call' : decisionTypes.has(type))

const decisionTypes: ReadonlySet<string> = new Set<Block['type']>([
  'react.thinking',
  'react.notes',
  'react.tool.call',
  'assistant.completion',
  'assistant.completion.attempt',
])
