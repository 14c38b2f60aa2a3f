import type { BlockOrigin, Digest, Draft, Notice, Visibility } from '../core/block/index.ts'
import type { Parameter as SignatureParameter } from '../core/decision/signature.ts'
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

/** Something the agent can do. Made by `defineTool`, which validates the parameters; here their types are unknown. */
export interface Tool {
  /** `namespace.name`. */
  readonly id: string
  readonly description: string
  /** The parameters in the order in which the model must write them. */
  readonly parameters: readonly Parameter[]
  /**
   * Whether the model must keep the order of the parameters. `hard`: a call with another order is refused, because its content streams to
   * the user before the call is complete. `soft`: it gets a warning.
   */
  readonly order: 'hard' | 'soft'
  readonly strategy: Strategy
  /** True when running the tool again with the same idempotency key does no harm: then the agent repeats the call after a crash. */
  readonly repeatable: boolean
  readonly timeoutMs: number | undefined
  /** True when the tool runs the program of the `code` channel; the parameter `contract` lists the files that the program must write. */
  readonly exec: boolean
  readonly returns: string | undefined
  readonly constraints: readonly string[]
  /** May return the outcome directly; the agent then continues without waiting for a promise. */
  run(params: Readonly<Record<string, unknown>>, call: Call): Outcome | Promise<Outcome>
}

/** One parameter as the model reads it in the catalog. */
export interface Parameter extends SignatureParameter {
  readonly description?: string
  readonly default?: unknown
  /** The accepted values in short notation, such as `"a" | "b"` or `array of {name: string}`. Default: the type. */
  readonly shape?: string
}

/** How the agent uses the tool: to find out something, to produce something, or neither. */
export type Strategy = 'exploration' | 'exploitation' | 'neutral'

/** The call that a tool serves: its identity, the state of the conversation, and the ports that the tool may use. */
export interface Call {
  readonly conversationId: string
  /** Turn, round and call that blocks of this call are stamped with. */
  readonly origin: BlockOrigin
  readonly toolId: string
  /** `<conversation>/<turn>/<call>`: unchanged when the call is repeated after a crash. */
  readonly idempotencyKey: string
  /** The timeline that the model saw when it decided, and this call. */
  readonly timeline: Timeline
  /** Fires when the user steers, the turn is stopped or the time limit is reached. A tool that ignores it is abandoned after a grace period. */
  readonly signal: AbortSignal
  readonly visiblePrompt: VisiblePrompt
  readonly clock: Pick<Clock, 'now' | 'randomHex'>
  readonly code: string | undefined
  /** Tenant, project and user that own the conversation. */
  readonly scope: Scope
  /** The whole journal of this conversation, including blocks that are no longer visible. */
  readonly records: Records
  /** The conversation's files on this machine; opened by the first call of this function. */
  workspace(): Promise<Workspace>
  readonly blobs: Pick<BlobStore, 'get' | 'put'>
  /** Reports an error to the operator that the model must not read, such as a service's message with host names or paths. */
  onProblem?(problem: { readonly where: string; readonly error: unknown }): void
}

/** Read access to the store, limited to one conversation. */
export interface Records {
  byPath(path: string): ReturnType<ConversationStore['findByPath']>
  byTurn(turnId: string): ReturnType<ConversationStore['findByTurn']>
  byCall(callId: string): ReturnType<ConversationStore['findByCall']>
  turnLog(turnId: string): ReturnType<ConversationStore['readTurnLog']>
  /** The model response that contains this call, with unabridged parameters. Slow: reads the whole journal. */
  response?(callId: string): Promise<ResponseReceived | undefined>
}

/** The part of the timeline that the model saw when it decided, and how much of it is frozen by the prompt cache. */
export interface VisiblePrompt {
  slice(): Slice
  points(): CachePoints
  readonly tokens: TokenCounter
}

/** The result of a call. A tool that can not do its work returns `ok: false`; the model reads the error and the turn continues. */
export interface Outcome {
  readonly ok: boolean
  readonly error?: ToolError
  /** The model reads it at the call's result path. */
  readonly output?: Json
  readonly notices?: readonly Notice[]
  readonly artifacts?: readonly MadeArtifact[]
  /** Blocks to append between the call and its results, such as plan snapshots. */
  readonly drafts?: readonly Draft[]
  /** Blocks to append after the output, such as content that was read. */
  readonly after?: readonly Draft[]
  /** Other changes of the timeline, such as a hide. */
  readonly changes?: readonly Change[]
  readonly sources?: readonly IncomingSource[]
}

/** The error of a failed call, as the model reads it. */
export interface ToolError {
  readonly code: string
  readonly message: string
  readonly where?: string
  readonly details?: Json
  readonly retryable?: boolean
}

/** An artifact that a tool produced; its file is already in OUT_DIR. The runtime hosts it when its digest says file and external. */
export interface MadeArtifact {
  readonly digest: Digest
  readonly mime: string
  /** The content that the model reads: complete, or a preview when `bytes` are given. */
  readonly text?: string
  /** The complete content, when `text` does not hold it. Stored in the blob store. */
  readonly bytes?: Uint8Array
  /** Makes the artifact an internal note with this text. */
  readonly note?: string
  /** Set when `text` is a diff, not the content. */
  readonly isPatch?: true
  /** The artifact's visibility, when it differs from the digest's: the digest of a patch is internal, the patched file may be external. */
  readonly visibility?: Visibility
}
