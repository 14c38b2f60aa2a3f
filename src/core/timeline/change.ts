import type { BlobRef, Block, HiddenReason, HiddenScope } from '../block/block.ts'
import type { JsonObject } from '../json.ts'
import type { ServiceError } from '../model-event.ts'
import type { SourceRow } from '../sources/source.ts'
import type { InboxEvent } from './inbox-event.ts'
import type { TimelinePayload } from './payload.ts'
import type { PromptRecord, RetriedAttempt, Usage } from './response-record.ts'

/** A change of a timeline. The journal of a conversation is a list of changes, one per row. */
export type Change =
  | TurnOpened
  | TurnClosed
  | TurnWaiting
  | TurnResumed
  | BlocksAppended
  /** Inserts blocks after an earlier block: feedback on an earlier turn, or a checkpoint of the running turn. Turn logs leave them out. */
  | { readonly type: 'blocks.inserted'; readonly after_id: string; readonly blocks: readonly Block[] }
  | RangeCompacted
  | BlocksHidden
  | { readonly type: 'blocks.revealed'; readonly ids: readonly string[] }
  | ResponseReceived
  /** `rows` are the new and changed sources, with all their fields. `next_sid` never decreases. */
  | { readonly type: 'sources.merged'; readonly ts: string; readonly rows: readonly SourceRow[]; readonly next_sid: number }
  | { readonly type: 'sources.used'; readonly ts: string; readonly sids: readonly number[] }
  | { readonly type: 'source.removed'; readonly ts: string; readonly sid: number }
  | { readonly type: 'title.set'; readonly ts: string; readonly title: string }
  | { readonly type: 'event.accepted'; readonly event: InboxEvent }
  /**
   * Removes events from the inbox, because the turn `turn_id` has read them. `turn_id` is null when the events expired or were withdrawn.
   */
  | { readonly type: 'event.folded'; readonly ts: string; readonly event_ids: readonly string[]; readonly turn_id: string | null }
  /** A tool is about to run again for a call, because the process died while the tool ran. */
  | { readonly type: 'call.repeated'; readonly turn_id: string; readonly call_id: string; readonly ts: string }
  | CallFinished
  | { readonly type: 'feedback.seen'; readonly ts: string; readonly until: string }
  /** Sets the visible state of an imported conversation. It is the last change of an import. */
  | { readonly type: 'timeline.imported'; readonly timeline: TimelinePayload; readonly next_block: number }

/** A turn has started. */
export interface TurnOpened {
  readonly type: 'turn.opened'
  readonly turn_id: string
  readonly ts: string
  /** Missing when the turn has no options of its own. */
  readonly options?: StoredTurnOptions
  /** Missing when the system text can not change while the agent runs. */
  readonly frozen?: FrozenTexts
}

/**
 * Parts of the system text that may change while the agent runs, as this turn uses them: `tools` is the list of the tools of MCP servers.
 * They are frozen, so that all prompts of the turn have the same system text, even after a crash and in a replay. Each text is a blob, so
 * its SHA-256 tells whether it has changed.
 */
export interface FrozenTexts {
  readonly [name: string]: BlobRef
}

/**
 * A compaction: `blocks` replace all visible blocks up to and including `after_id`. They are the summary and the blocks that it preserves.
 */
export interface RangeCompacted {
  readonly type: 'range.compacted'
  readonly after_id: string
  readonly blocks: readonly Block[]
  readonly covered: readonly string[]
  /** Set when the turn continues with new frozen texts after the compaction. */
  readonly frozen?: FrozenTexts
}

/**
 * Options that apply to one turn and replace options of the agent. They are stored, so that another process can resume the turn with the
 * same options.
 */
export interface StoredTurnOptions {
  /** The name of a model in the option `models` of the agent. */
  readonly model?: string
  readonly max_rounds?: number
  /** Instructions for this turn. They are in the announce of each prompt. */
  readonly instructions?: string
  /** The ids of the tools that can be called. */
  readonly tools?: readonly string[]
  /** The tools whose calls wait for a person: ids, or names such as `mail.*`. */
  readonly ask?: readonly string[]
  /** The JSON Schema of the output. The answer of the turn is JSON that matches it. */
  readonly output?: JsonObject
  /** The names of options that could not be stored, such as a model without a name. These options are lost when the process ends. */
  readonly unstored?: readonly string[]
}

/** A turn has ended. */
export interface TurnClosed {
  readonly type: 'turn.closed'
  readonly turn_id: string
  readonly ts: string
  readonly exit_reason: string
  /** The SIDs that the answers and artifacts of the turn cite. */
  readonly sources_used?: readonly number[]
  readonly tokens?: number
}

/**
 * The turn waits for something outside of the process, such as the approval of a person. No process needs to run until one of the waits
 * ends or something arrives for the turn. A new wait with the id of an earlier wait replaces that wait.
 */
export interface TurnWaiting {
  readonly type: 'turn.waiting'
  readonly turn_id: string
  readonly ts: string
  readonly waits: readonly Wait[]
  /** Set when the turn continues its work during these waits, for example because other calls of the same response are running. */
  readonly active?: true
}

/** The waits `wait_ids` have ended, and the turn continues. */
export interface TurnResumed {
  readonly type: 'turn.resumed'
  readonly turn_id: string
  readonly ts: string
  readonly wait_ids: readonly string[]
}

/** One thing that a turn waits for. */
export interface Wait {
  readonly wait_id: string
  readonly kind: WaitKind
  /** The tool call that waits. */
  readonly call_id?: string
  /** The question to the person, or a sentence that says what the turn waits for. */
  readonly question?: string
  /** When the wait ends if nothing has arrived before. If it is missing, the turn waits until something arrives. */
  readonly expires_at?: string
  /** Set when only an operator may decide. */
  readonly approver?: 'operator'
  /** The conversation of the sub-agent that waits. Set for the kind `child`. */
  readonly child_id?: string
  /** The SHA-256 of a token. A caller with this token may deliver the result of the call once. The token itself is not stored. */
  readonly token_sha256?: string
  /** The name of the budget that was reached. Set for the kind `budget`. */
  readonly budget?: string
  /** The JSON Schema of the answer to the question of a tool. */
  readonly schema?: JsonObject
  /** Set while the tool of the call is still running. If the process dies, the wait ends, and the outcome of the call is unknown. */
  readonly running?: true
}

/**
 * `approval`: a person decides. `later`: the result of a tool arrives later. `provider`: a model provider can not answer now. `budget`: a
 * budget was reached, and an operator may raise it. `child`: a sub-agent waits. `elicitation`: a running tool asks a person.
 */
export type WaitKind = (typeof waitKinds)[number]

export const waitKinds = ['approval', 'later', 'provider', 'budget', 'child', 'elicitation'] as const

/** Adds blocks at the end of the timeline. */
export interface BlocksAppended {
  readonly type: 'blocks.appended'
  readonly blocks: readonly Block[]
}

/** Hides blocks with the same path. The replacement text is shown once, in the place of the first of these blocks. */
export interface BlocksHidden {
  readonly type: 'blocks.hidden'
  readonly ids: readonly string[]
  readonly replacement_text: string
  readonly reason: HiddenReason
  readonly scope?: HiddenScope
}

/**
 * The output of a model call as the model wrote it, its usage and the record of its prompt. Replay and recovery use this change. It is not
 * part of the prompt.
 */
export interface ResponseReceived {
  readonly type: 'response.received'
  readonly turn_id: string
  readonly ts: string
  readonly iteration: number
  readonly call_id: string
  /** The purpose of the call: a title (`gate`) or a compaction. Undefined for a decision. */
  readonly role?: 'gate' | 'compaction'
  /** The text of the response. In the dialect `native` it is the JSON list of its parts. */
  readonly raw: string
  /** The dialect of the response. Undefined for `channels`. */
  readonly dialect?: 'native'
  readonly finish_reason: string
  readonly usage?: Usage
  readonly prompt?: PromptRecord
  /** The error of the provider. Set when the output is incomplete because of this error. */
  readonly error?: ServiceError
  /** Earlier attempts of this call that failed before any output was shown, but cost tokens. */
  readonly retried?: readonly RetriedAttempt[]
  /** Set when the turn had reached this limit, so the model could only answer. */
  readonly wrap_up?: ReachedLimit
  /**
   * The hash of the request for a summary. If the process crashes, the next process may need the same summary. It then uses this response
   * and does not call the model again.
   */
  readonly request_hash?: number
}

/**
 * A tool has returned, but its result can not be appended yet, because an earlier call of the same response is still running. The outcome
 * is stored here, so that it is not lost if the process dies. It is not part of the prompt. The blocks of the result follow later.
 */
export interface CallFinished {
  readonly type: 'call.finished'
  readonly turn_id: string
  readonly ts: string
  readonly call_id: string
  readonly outcome: StoredOutcome
  /** The blobs to which the outcome refers. The store must keep them as long as the entry. */
  readonly keeps?: readonly BlobRef[]
}

/** The outcome of a tool call as JSON. `tools/stored-outcome.ts` writes and reads the fields besides `ok`. */
export interface StoredOutcome {
  readonly ok: boolean
  readonly [field: string]: unknown
}

/**
 * A limit of a turn. When it is reached, the model is called once more and may only answer. `money` is also used for the limit of tokens.
 */
export type ReachedLimit = 'rounds' | 'time' | 'money'

/** The time that a change contains. Undefined for changes without a time. */
export function changeTime(change: Change): string | undefined {
  switch (change.type) {
    case 'blocks.appended':
    case 'blocks.inserted':
    case 'range.compacted':
      return change.blocks.at(-1)?.ts
    case 'blocks.hidden':
    case 'blocks.revealed':
      return undefined // the store uses the time of the previous change
    case 'event.accepted':
      return change.event.ts
    case 'timeline.imported':
      return change.timeline.ts ?? undefined
    default:
      return change.ts
  }
}

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
 * Whether an entry contains blocks of a decision. When such an entry arrives, a client replaces the live output of the round by the blocks
 * of the entry. The result is false for an entry with a response, because its blocks come later. It is also false for an entry with the
 * result of a call, because other calls may still be running. The live output of an interrupted response stays until the next round begins
 * or the turn ends.
 */
export const endsLiveOutput = (change: Change): boolean =>
  change.type === 'blocks.appended' && change.blocks.some(isOfDecision) && !change.blocks.some(isResult)

const isResult = ({ type }: Block): boolean => type === 'react.tool.result'

const isOfDecision = ({ type, meta }: Block): boolean => (type === 'react.notice' ? meta?.rel === 'call' : decisionTypes.has(type))

const decisionTypes: ReadonlySet<string> = new Set<Block['type']>([
  'react.thinking',
  'react.notes',
  'react.tool.call',
  'assistant.completion',
  'assistant.completion.attempt',
])
