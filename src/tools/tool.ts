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

/** Something the agent can do. `defineTool` makes a tool and validates its parameters, so their types are unknown here. */
export interface Tool {
  /** The id in the form `namespace.name`. */
  readonly id: string
  readonly description: string
  /** The parameters in the order in which the model must write them. */
  readonly parameters: readonly Parameter[]
  /**
   * Whether the model must keep the order of the parameters. With `hard`, a call in another order is refused, because its content streams
   * to the user before the call is complete. With `soft`, the call gets a warning.
   */
  readonly order: 'hard' | 'soft'
  readonly strategy: Strategy
  /** True when running the tool again with the same idempotency key does no harm. The agent then repeats the call after a crash. */
  readonly repeatable: boolean
  readonly timeoutMs: number | undefined
  /**
   * True when the tool runs the program of the `code` channel. The parameter `contract` lists the files that the program must write. The
   * context files (`timeline.json` and others) are written just before the tool runs.
   */
  readonly exec: boolean
  /**
   * Whether the parameters take only a text at a place such as `['mails', '0', 'body']`. A reference there gives its text and not the parsed
   * JSON. Without this function, the types of `parameters` decide.
   */
  takesText?(at: readonly string[]): boolean
  readonly returns: string | undefined
  readonly constraints: readonly string[]
  /** Runs the tool. It may return the outcome without a promise, which saves the agent a wait. */
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

/** The call that a tool serves. It has the call's identity, the state of the conversation, and the ports that the tool may use. */
export interface Call {
  readonly conversationId: string
  /** The turn, round and call that are recorded in the blocks of this call. */
  readonly origin: BlockOrigin
  readonly toolId: string
  /** The key `<conversation>/<turn>/<call>`. It is the same when the call is repeated after a crash. */
  readonly idempotencyKey: string
  /** The timeline that the model saw when it decided. It does not contain this call. */
  readonly timeline: Timeline
  /** Fires when the user steers, the turn is stopped or the time limit is reached. A tool that ignores it is abandoned after a grace period. */
  readonly signal: AbortSignal
  readonly visiblePrompt: VisiblePrompt
  readonly clock: Pick<Clock, 'now' | 'randomHex'>
  readonly code: string | undefined
  /** Tenant, project and user that own the conversation. */
  readonly scope: Scope
  /** Lookups in the whole journal of this conversation, including blocks that are no longer visible. */
  readonly records: Records
  /** The conversation's files on this machine. The first call of this function opens them. */
  workspace(): Promise<Workspace>
  readonly blobs: Pick<BlobStore, 'get' | 'put'>
  /** Reports an error to the operator. Used for errors that the model must not read, such as a message with host names or paths. */
  onProblem?(problem: { readonly where: string; readonly error: unknown }): void
}

/** Read access to the store, limited to one conversation. */
export interface Records {
  byPath(path: string): ReturnType<ConversationStore['findByPath']>
  byTurn(turnId: string): ReturnType<ConversationStore['findByTurn']>
  byCall(callId: string): ReturnType<ConversationStore['findByCall']>
  turnLog(turnId: string): ReturnType<ConversationStore['readTurnLog']>
  /** The model response that contains this call, with complete parameters. It is slow, because it reads the whole journal. */
  response?(callId: string): Promise<ResponseReceived | undefined>
}

/** The part of the timeline that the model saw when it decided, and the cache points that freeze some of it. */
export interface VisiblePrompt {
  slice(): Slice
  points(): CachePoints
  readonly tokens: TokenCounter
  /** The most tokens that may come after a block that `react.hide` folds. */
  readonly editableTailTokens: number
}

/** The result of a call. A tool that can not do its work returns `ok: false`. The model then reads the error, and the turn continues. */
export interface Outcome {
  readonly ok: boolean
  readonly error?: ToolError
  /** The tool's return value. The model reads it at the call's result path. */
  readonly output?: Json
  readonly notices?: readonly Notice[]
  readonly artifacts?: readonly MadeArtifact[]
  /** Blocks to append between the call and its results, such as plan snapshots. */
  readonly drafts?: readonly Draft[]
  /** Blocks to append after the output, such as content that was read. */
  readonly after?: readonly Draft[]
  /** Other changes of the timeline, such as a hide. */
  readonly changes?: readonly Change[]
  /**
   * The pages that the tool found. The `sid` of a row is its number in this result. The runtime replaces it by the number of the source in the
   * conversation, also in the output and in its citations.
   */
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

/**
 * An artifact that a tool produced. Its file is already in OUT_DIR. The runtime hosts the file if the digest has kind `file` and visibility
 * `external`.
 */
export interface MadeArtifact {
  readonly digest: Digest
  readonly mime: string
  /** The content that the model reads. It is complete, or a preview when `bytes` are given. */
  readonly text?: string
  /** The complete content, when `text` does not hold it. It goes to the blob store. */
  readonly bytes?: Uint8Array
  /** Makes the artifact an internal note with this text. */
  readonly note?: string
  /** Set when `text` is a diff, not the content. */
  readonly isPatch?: true
  /**
   * The artifact's visibility, when it differs from the digest's. The digest of a patch is internal, while the patched file may be
   * external.
   */
  readonly visibility?: Visibility
}
