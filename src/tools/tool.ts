import type { Digest, Draft, Notice, Place, Visibility } from '../core/block/index.ts'
import type { TokenCounter } from '../core/estimate/tokens.ts'
import type { Json } from '../core/json.ts'
import type { CachePoints } from '../core/render/cache-points.ts'
import type { Slice } from '../core/render/types.ts'
import type { Scope } from '../core/scope.ts'
import type { IncomingSource } from '../core/sources/source.ts'
import type { Change, ResponseReceived } from '../core/timeline/change.ts'
import type { Timeline } from '../core/timeline/timeline.ts'
import type { BlobStore } from '../ports/blobs.ts'
import type { Clock } from '../ports/clock.ts'
import type { ConversationStore } from '../ports/store.ts'
import type { Workspace } from '../ports/workspace.ts'
import type { Parameter } from './define.ts'

/** Something the agent can do. Made by `defineTool`; the types of its parameters are checked there and forgotten here. */
export interface Tool {
  /** `namespace.name`. */
  readonly id: string
  readonly description: string
  /** In the order in which the model must write them. */
  readonly parameters: readonly Parameter[]
  /** Hard: a call in another order is refused, because its content streams to the user before it is complete. */
  readonly order: 'hard' | 'soft'
  readonly strategy: Strategy
  /** Running it again under the same idempotency key does no harm: after a crash it is simply run again. */
  readonly repeatable: boolean
  readonly timeoutMs: number | undefined
  /** Takes its program from the `code` channel, and the files that this must leave from its parameter `contract`. */
  readonly exec: boolean
  readonly returns: string | undefined
  readonly constraints: readonly string[]
  /** A tool that is done when it returns makes nobody wait. */
  run(params: Readonly<Record<string, unknown>>, call: Call): Outcome | Promise<Outcome>
}

export type Strategy = 'exploration' | 'exploitation' | 'neutral'

/** What a tool is told about the call it serves. */
export interface Call {
  readonly conversationId: string
  readonly origin: Place
  readonly toolId: string
  /** `<conversation>/<turn>/<call>`: the same when a call is run again after a crash. */
  readonly idempotencyKey: string
  /** As it was when the model decided, this call included. */
  readonly timeline: Timeline
  /** Fires when the user steers, the turn is stopped or the time is up. A tool that does not listen is left behind. */
  readonly signal: AbortSignal
  /** What the model could see when it decided, and up to where that is frozen. */
  readonly visiblePrompt: VisiblePrompt
  readonly clock: Pick<Clock, 'now' | 'randomHex'>
  readonly code: string | undefined
  /** Whose conversation it is. */
  readonly scope: Scope
  /** Everything that was ever entered in this conversation, visible or not. */
  readonly records: Records
  /** The conversation's files on this machine; opened when first asked for. */
  workspace(): Promise<Workspace>
  readonly blobs: Pick<BlobStore, 'get' | 'put'>
  /** Tells the owner of the agent what the model must not read: the words of a broken service, with the places they name. */
  onProblem?(problem: { readonly where: string; readonly error: unknown }): void
}

/** The store, for one conversation and for reading. */
export interface Records {
  byPath(path: string): ReturnType<ConversationStore['findByPath']>
  byTurn(turnId: string): ReturnType<ConversationStore['findByTurn']>
  byCall(callId: string): ReturnType<ConversationStore['findByCall']>
  turnLog(turnId: string): ReturnType<ConversationStore['readTurnLog']>
  /** What the model wrote when it made this call, with its parameters in full. Slow: it looks through the whole journal. */
  response?(callId: string): Promise<ResponseReceived | undefined>
}

export interface VisiblePrompt {
  slice(): Slice
  points(): CachePoints
  readonly tokens: TokenCounter
}

/** What came of a call. A tool that could not returns `ok: false`; it never throws on purpose and never ends a turn. */
export interface Outcome {
  readonly ok: boolean
  readonly error?: ToolError
  /** Shown at the call's result path. */
  readonly output?: Json
  readonly notices?: readonly Notice[]
  readonly artifacts?: readonly MadeArtifact[]
  /** Blocks between the call and its results, such as plan snapshots. */
  readonly drafts?: readonly Draft[]
  /** Blocks after the answer, such as what was read. */
  readonly after?: readonly Draft[]
  /** Other changes of the timeline, such as a hide. */
  readonly changes?: readonly Change[]
  readonly sources?: readonly IncomingSource[]
}

export interface ToolError {
  readonly code: string
  readonly message: string
  readonly where?: string
  readonly details?: Json
  readonly retryable?: boolean
}

/**
 * An artifact as a tool made it; its file is already in OUT_DIR. Whether and where it is hosted is nobody's business but the runtime's:
 * it hosts what is a file and external.
 */
export interface MadeArtifact {
  readonly digest: Digest
  readonly mime: string
  /** Shown as the content; whole, or a preview when `bytes` are given. */
  readonly text?: string
  /** The whole content, where text does not hold it: kept in the blob store with the block. */
  readonly bytes?: Uint8Array
  readonly note?: string
  /** The text is a diff, not the content. */
  readonly isPatch?: true
  /** Of the artifact, where the digest tells that of a step: a patch is internal, and what it changes stays what it was. */
  readonly visibility?: Visibility
}
