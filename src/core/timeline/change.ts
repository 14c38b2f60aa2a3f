import type { BlobRef, Block, HiddenReason, HiddenScope } from '../block/block.ts'
import type { ServiceError } from '../model-event.ts'
import type { SourceRow } from '../sources/source.ts'
import type { TimelinePayload } from './payload.ts'

/** Every way a timeline may change. The journal is a list of these, one per row. */
export type Change =
  | TurnOpened
  | TurnClosed
  | BlocksAppended
  /** Into the past: feedback on an old turn, a checkpoint in the middle of this one. Not part of a turn log. */
  | { readonly type: 'blocks.inserted'; readonly after_id: string; readonly blocks: readonly Block[] }
  /** Everything up to and with `after_id` leaves the visible slice; `blocks` (the summary and what it preserves) stand for it. */
  | { readonly type: 'range.compacted'; readonly after_id: string; readonly blocks: readonly Block[]; readonly covered: readonly string[] }
  | BlocksHidden
  | { readonly type: 'blocks.revealed'; readonly ids: readonly string[] }
  | ResponseReceived
  /** Rows as they now are, new or grown. `next_sid` never goes back. */
  | { readonly type: 'sources.merged'; readonly ts: string; readonly rows: readonly SourceRow[]; readonly next_sid: number }
  | { readonly type: 'sources.used'; readonly ts: string; readonly sids: readonly number[] }
  | { readonly type: 'source.removed'; readonly ts: string; readonly sid: number }
  | { readonly type: 'title.set'; readonly ts: string; readonly title: string }
  | { readonly type: 'event.accepted'; readonly event: InboxEvent }
  /** The events became part of a turn, or expired: either way they wait no longer. */
  | { readonly type: 'event.folded'; readonly ts: string; readonly event_ids: readonly string[]; readonly turn_id: string | null }
  | { readonly type: 'feedback.seen'; readonly ts: string; readonly until: string }
  /** The visible slice of another conversation, taken over whole. Only ever into an empty timeline or over imported turns. */
  | { readonly type: 'timeline.imported'; readonly timeline: TimelinePayload; readonly next_block: number }

export interface TurnOpened {
  readonly type: 'turn.opened'
  readonly turn_id: string
  readonly ts: string
}

export interface TurnClosed {
  readonly type: 'turn.closed'
  readonly turn_id: string
  readonly ts: string
  readonly exit_reason: string
  /** SIDs cited by the turn's completions and artifacts. */
  readonly sources_used?: readonly number[]
  readonly tokens?: number
}

export interface BlocksAppended {
  readonly type: 'blocks.appended'
  readonly blocks: readonly Block[]
}

/** One path group folded away. The text is shown once, at the first of the blocks. */
export interface BlocksHidden {
  readonly type: 'blocks.hidden'
  readonly ids: readonly string[]
  readonly replacement_text: string
  readonly reason: HiddenReason
  readonly scope?: HiddenScope
}

/** The model's raw output with its bill and the prompt it answered. Never rendered; the source of replay and recovery. */
export interface ResponseReceived {
  readonly type: 'response.received'
  readonly turn_id: string
  readonly ts: string
  readonly iteration: number
  readonly call_id: string
  /** Who asked. A decision when not said; only decisions move the turn on. */
  readonly role?: 'gate' | 'compaction'
  readonly raw: string
  readonly finish_reason: string
  readonly usage?: Usage
  readonly prompt?: PromptRecord
  /** Why there is no more of it: the provider failed. */
  readonly error?: ServiceError
  /** What it had cost to ask before, in vain: nobody had seen anything of it, so it was asked again. Attempts that cost nothing are left out. */
  readonly retried?: readonly RetriedAttempt[]
}

export interface RetriedAttempt {
  readonly usage: Usage
  readonly model?: string
  /** Nobody sent a bill. */
  readonly estimated?: true
}

/** Tokens as the provider billed them, in four buckets that do not overlap; `reasoning` is a part of `output`. */
export interface Usage {
  readonly uncached: number
  readonly cache_read: number
  readonly cache_write: number
  /** The part of `cache_write` that was written to live for an hour. */
  readonly cache_write_long?: number
  readonly output: number
  readonly reasoning?: number
}

/** What was sent, by hash: enough to say why a cache was missed and whether it would be sent again, without storing the prompt. */
export interface PromptRecord {
  readonly model?: string
  /** The parts that carried a cache mark. */
  readonly marks?: readonly number[]
  /** The shown block that each mark stands behind, by its position among those shown. */
  readonly points?: readonly number[]
  /** Hash of everything up to and with each mark, the system text apart. */
  readonly segments?: readonly number[]
  readonly system?: SystemFingerprint
  /** Of what follows the last stable block, sources and announce: how many characters; and what, when `recordPrompts` is set. */
  readonly tail?: { readonly size: number; readonly text?: string }
  readonly shown?: ShownFingerprints
  readonly estimated_tokens?: number
  readonly cache_ttl_seconds?: number | null
}

/** The system text: all of it, its catalogue of tools, and how many characters it has. */
export interface SystemFingerprint {
  readonly hash: number
  readonly tools: number
  readonly size: number
}

/**
 * The blocks that were shown, each by a short hash. Only those that the prompt before did not show at the same place:
 * what a conversation stores of its prompts grows with what is new.
 */
export interface ShownFingerprints {
  readonly from: number
  readonly hashes: readonly number[]
  /** Of all blocks shown, from the first. */
  readonly chain: number
  /** The blocks themselves, when `recordPrompts` is set: then replay can name the very byte. */
  readonly texts?: readonly string[]
}

/** Something from outside that a turn has yet to take notice of. */
export interface InboxEvent {
  readonly event_id: string
  readonly sequence: number
  readonly kind: 'followup' | 'steer' | 'feedback' | 'external'
  readonly ts: string
  readonly text: string
  readonly target_turn_id?: string
  readonly payload?: unknown
  /** Bytes that its payload speaks of: they live as long as the entry. */
  readonly keeps?: readonly BlobRef[]
}

/** When a change happened, by its own word. */
export function changeTime(change: Change): string | undefined {
  switch (change.type) {
    case 'blocks.appended':
    case 'blocks.inserted':
    case 'range.compacted':
      return change.blocks.at(-1)?.ts
    case 'blocks.hidden':
    case 'blocks.revealed':
      return undefined // never alone: what caused it is in the same append
    case 'event.accepted':
      return change.event.ts
    case 'timeline.imported':
      return change.timeline.ts ?? undefined
    default:
      return change.ts
  }
}

/** The blocks a change brings along, whatever it does with them. */
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
