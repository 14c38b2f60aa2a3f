import type { BlobRef, BlockOrigin, Digest, Draft, Notice, Visibility } from '../core/block/index.ts'
import type { ChildRecord } from '../core/cost/child-calls.ts'
import type { Parameter as SignatureParameter } from '../core/decision/signature.ts'
import type { TokenCounter } from '../core/estimate/tokens.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { Dialect } from '../core/model-event.ts'
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
import type { CallToApprove } from './approval.ts'

/**
 * An action that the agent can take. `defineTool` makes a tool and validates its parameters, so this interface does not know their types.
 */
export interface Tool {
  /** The id in the form `namespace.name`. The name may have further dots, such as `mcp.github.create-issue`. */
  readonly id: string
  readonly description: string
  /** The parameters in the order in which the model must write them. */
  readonly parameters: readonly Parameter[]
  /**
   * Whether the model must keep the order of the parameters. With `soft`, a call with another order gets a warning. With `hard`, it is
   * rejected. `hard` is for tools whose content the user sees while the model writes it. Other parameters decide where the content is
   * shown, so they must come before the content.
   */
  readonly order: 'hard' | 'soft'
  readonly strategy: Strategy
  /** True when running the tool again with the same idempotency key does no harm. A call of such a tool is repeated after a crash. */
  readonly repeatable: boolean
  /**
   * True when a call of the tool may run at the same time as other calls of the response whose tools also have `parallel`. All other calls
   * of the response run alone, in the order in which the model wrote them.
   */
  readonly parallel?: boolean
  readonly timeoutMs: number | undefined
  /**
   * True when the tool runs the program in the `code` channel. The parameter `contract` lists the files that the program must write. The
   * context files, such as `timeline.json`, are written before the tool runs.
   */
  readonly exec: boolean
  /**
   * True when the tool changes nothing but the timeline. The report of effects leaves out its calls. By default every tool may have an
   * effect.
   */
  readonly readOnly?: boolean
  /** True when programs of exec tools may call this tool. */
  readonly callableFromCode?: boolean
  /** Whether a person has to approve a call before the tool runs. A function decides for each call. */
  readonly approval?: true | ((params: JsonObject, call: CallToApprove) => boolean | Promise<boolean>)
  /** Set when only an operator may approve. By default the user of the conversation may also approve. */
  readonly approver?: 'operator'
  /**
   * Whether the value at a position such as `['mails', '0', 'body']` must be a text. A reference at this position is then replaced by text
   * and not by parsed JSON. Without this function, the types in `parameters` decide.
   */
  takesText?(at: readonly string[]): boolean
  /** Says why `run` refuses these parameters. Undefined when it accepts them. A tool without this function may still refuse them. */
  problemWith?(params: Readonly<Record<string, unknown>>): Promise<string | undefined>
  readonly returns: string | undefined
  readonly constraints: readonly string[]
  /**
   * Finds out the outcome of a call that was running when the process died. It is called before the call is repeated or given up.
   * `idempotencyKey` is the key that `run` got. See `LookUp`.
   */
  lookUp?(idempotencyKey: string, params: Readonly<Record<string, unknown>>, signal: AbortSignal): LookUp | Promise<LookUp>
  /**
   * Ends the work of a call when the turn does not wait for its result any more, because the user has sent new instructions. Returns the
   * outcome of the call, if there is one. It may be called several times for the same call.
   */
  withdraw?(idempotencyKey: string, signal: AbortSignal): Promise<Outcome | undefined>
  /** Runs the tool. A tool that need not wait can return the outcome without a promise. */
  run(params: Readonly<Record<string, unknown>>, call: Call): Outcome | Promise<Outcome>
}

/**
 * What `lookUp` found: the outcome of the call, `not-done` if the call has had no effect and will have none, or `unknown`. A call that was
 * not done is run. For `unknown`, the call is repeated if the tool is repeatable, and otherwise the model is told that the outcome is
 * unknown.
 */
export type LookUp = Outcome | 'not-done' | 'unknown'

/** A parameter as the list of tools in the system text shows it. */
export interface Parameter extends SignatureParameter {
  readonly description?: string
  readonly default?: unknown
  /** The accepted values as JSON Schema, for models that call tools in the provider's form. */
  readonly schema?: JsonObject
  /** The accepted values in short notation, such as `"a" | "b"` or `array of {name: string}`. By default the type is shown. */
  readonly shape?: string
}

/** What the agent uses the tool for: to find information, to produce a result, or for other purposes. */
export type Strategy = 'exploration' | 'exploitation' | 'neutral'

/** One call of a tool: its ids, the state of the conversation, and the ports that the tool may use. */
export interface Call {
  readonly conversationId: string
  /** The turn, round and call ids for the blocks of this call. */
  readonly origin: BlockOrigin
  readonly toolId: string
  /** `<conversation>/<turn>/<call>`. It is the same when the call is repeated after a crash. */
  readonly idempotencyKey: string
  /** The timeline that the model saw when it made this call. It does not contain the call. */
  readonly timeline: Timeline
  /**
   * Aborted when a user steers, when the turn is stopped, or when the time limit is reached. If the tool does not return soon after that,
   * its result is ignored.
   */
  readonly signal: AbortSignal
  readonly visiblePrompt: VisiblePrompt
  readonly clock: Pick<Clock, 'now' | 'randomHex'>
  readonly code: string | undefined
  /** The dialect of the model. Messages about a missing program depend on it. Default: `channels`. */
  readonly dialect?: Dialect
  /** Whether a tool can be called in this turn. If undefined, all tools can be called. */
  readonly offers?: (toolId: string) => boolean
  /**
   * Whether the agent has a tool in this turn, or any tool of a namespace such as `mcp.github.*`. Also true for the tools of an MCP server
   * that has not answered. Undefined for an agent without MCP servers.
   */
  readonly hasTool?: (id: string) => boolean
  /** The tenant, project and user that own the conversation. */
  readonly scope: Scope
  /** Reads the whole journal of this conversation, including blocks that are no longer visible. */
  readonly records: Records
  /** The files of the conversation on this machine. The first time that this function is called, it opens the workspace. */
  workspace(): Promise<Workspace>
  readonly blobs: Pick<BlobStore, 'get' | 'put'>
  /**
   * Reports an error to the operator. Use it for errors that the model must not read, for example because they contain host names or paths.
   */
  onProblem?(problem: { readonly where: string; readonly error: unknown }): void
  /**
   * Shows users what the tool does now, in one line, while it runs. The line is not stored, and the model does not see it. If a tool calls
   * this often, only some of the lines are shown. Missing when a program of the model makes the call.
   */
  showProgress?(text: string): void
  /**
   * A token with which another system can deliver the result of this call once, after the tool has returned `later(…)`. A caller with this
   * token needs no other permission to deliver the result. Missing when a program of the model makes the call.
   */
  completionToken?(): Promise<string>
  /**
   * Asks a person while the tool runs. The question is in the list of waits, and a person can answer it through any process. Returns
   * `cancel` if one of the signals is aborted, or if no person answers within the time limit for approvals. Missing when a program of the
   * model makes the call.
   */
  ask?(question: Question, signal: AbortSignal): Promise<Reply>
}

/** What a tool asks a person. */
export interface Question {
  readonly message: string
  /** The JSON Schema of the answer: an object with simple fields. */
  readonly schema: JsonObject
}

/** The answer of a person to the question of a tool. */
export type Reply =
  | { readonly action: 'accept'; readonly content: JsonObject }
  | { readonly action: 'decline' }
  /** No person has answered. */
  | { readonly action: 'cancel' }

/** Read access to the journal of one conversation. */
export interface Records {
  byPath(path: string): ReturnType<ConversationStore['findByPath']>
  byTurn(turnId: string): ReturnType<ConversationStore['findByTurn']>
  byCall(callId: string): ReturnType<ConversationStore['findByCall']>
  turnLog(turnId: string): ReturnType<ConversationStore['readTurnLog']>
  /** The records of another conversation of the same tenant, project and user. `name` is the name in paths, after `conv_`. */
  inConversation?(name: string): Records
  /** The response of the model that contains this call, with complete parameters. It is slow, because it reads the whole journal. */
  response?(callId: string): Promise<ResponseReceived | undefined>
}

/** The blocks that the model saw when it made this call, and the cache points. Blocks before a cache point must not be changed. */
export interface VisiblePrompt {
  slice(): Slice
  points(): CachePoints
  readonly tokens: TokenCounter
  /**
   * `react.hide` may hide a block only if at most this many tokens follow after it in the prompt. If more tokens follow, the provider would
   * have to process all of them again, because its cache ends at the changed block.
   */
  readonly editableTailTokens: number
}

/**
 * The result of a call. A tool that can not do its work returns `ok: false`. In this case the model reads the error, and the turn
 * continues.
 */
export interface Outcome {
  readonly ok: boolean
  readonly error?: ToolError
  /** The return value of the tool. The model reads it at the path of the result. */
  readonly output?: Json
  readonly notices?: readonly Notice[]
  readonly artifacts?: readonly MadeArtifact[]
  /** Blocks to append between the call and its result, such as plans. */
  readonly drafts?: readonly Draft[]
  /** Blocks to append after the output, such as content that was read. */
  readonly after?: readonly Draft[]
  /** Other changes of the timeline, such as `blocks.hidden`. */
  readonly changes?: readonly Change[]
  /**
   * The web pages that the tool found. The `sid` of each row is a number that the tool has chosen. Daybook replaces this number by the SID,
   * in the rows, in the output and in all citations.
   */
  readonly sources?: readonly IncomingSource[]
  /** Set when the result is not known yet and arrives later, by `agent.complete`. Made by `later`. */
  readonly later?: LateResult
  /** The conversation of a sub-agent that did the work of the call. Its cost is part of the cost of this conversation. */
  readonly child?: ChildRecord
  /** Only for exec tools. The report takes the place of `output` and `error` in the result, even if the call failed. */
  readonly report?: ExecReport
}

/** What is known about a result that arrives later. */
export interface LateResult {
  /** A text for people that says what the call waits for. */
  readonly note?: string
  /** The time at which the call fails if its result has not arrived. */
  readonly expiresAt?: string
  /** The conversation of a sub-agent that waits. The call is run again at `expiresAt`, or when an event for the sub-agent has arrived. */
  readonly child?: string
}

/** What an exec tool reports about the run of a program. */
export interface ExecReport {
  /** Markdown for the model. */
  readonly text: string
  /** The content of the report as data. It is stored in `meta.exec_report` of the result. */
  readonly facts: JsonObject
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
 * An artifact that a tool made. Its file is already in the workspace. The runtime hosts the file if the digest has the kind `file` and the
 * visibility `external`.
 */
export interface MadeArtifact {
  readonly digest: Digest
  readonly mime: string
  /** The content for the model. It is only a preview if `bytes` is set. */
  readonly text?: string
  /** The complete content, if `text` is not complete. It is stored as a blob. */
  readonly bytes?: Uint8Array
  /** The complete content, if it is already stored as a blob. Then `text` and `bytes` are not set. */
  readonly blob?: BlobRef
  /** Set when the model should see only the digest and not the content. The content is still stored. */
  readonly withoutContent?: true
  /** If set, the artifact is an internal note with this text. */
  readonly note?: string
  /** Set when `text` is a diff and not the content. */
  readonly isPatch?: true
  /**
   * The visibility of the artifact, if it differs from the visibility in the digest. The digest of a patch may be internal although the
   * patched file is external.
   */
  readonly visibility?: Visibility
}
