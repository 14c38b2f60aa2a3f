import type { TokenCounter } from '../core/estimate/tokens.ts'
import type { EntryEvent } from '../core/event.ts'
import type { Clock } from '../ports/clock.ts'
import type { DocumentReader } from '../ports/documents.ts'
import type { Hosting } from '../ports/hosting.ts'
import type { McpServers } from '../ports/mcp.ts'
import type { Model } from '../ports/model.ts'
import type { Sandbox } from '../ports/sandbox.ts'
import type { ConversationStore } from '../ports/store.ts'
import type { Telemetry } from '../ports/telemetry.ts'
import type { Workspaces } from '../ports/workspace.ts'
import type { ApprovalRule } from '../tools/approval.ts'
import type { AttachmentPolicy } from '../tools/attachments/policy.ts'
import type { Tool } from '../tools/tool.ts'
import type { Models, Problem } from './agent-context.ts'
import type { Bookkeeping } from './conversation/spending.ts'
import type { AnnounceFunction, HookFunctions } from './hooks.ts'
import type { AgentSettings } from './settings.ts'
import type { BuiltInOptions } from './tools.ts'
import type { ToolsFor } from './turn/turn-options.ts'

/** The parts that an agent is made of: models, store, tools, texts, settings and callbacks. */
export interface AgentParts {
  /**
   * One model for all roles, or a model for each role. A role without a model uses the model for `decision`. `fallback` makes the decisions
   * while the provider of `decision` can not answer.
   */
  readonly model: Model | (Pick<Models, 'decision'> & Partial<Models>)
  /** Models that a single run can choose by name: `run(id, text, { model: 'fast' })`. */
  readonly models?: Readonly<Record<string, Model>>
  readonly store: ConversationStore
  /**
   * If true, the agent runs no turns. It stores messages, steers and decisions. Agents in other processes with the same store, which call
   * `work`, run the turns. Default: false.
   */
  readonly acceptOnly?: boolean
  readonly clock: Clock
  /** Without workspaces the agent has no files, and tools that need files return an error. */
  readonly workspaces?: Workspaces
  /** Without hosting, files are created and stored, but users get no links to them. */
  readonly hosting?: Hosting
  /** Reads PDFs. Without it, uploaded PDFs are not checked, and the agent can not read their text. */
  readonly documents?: DocumentReader
  /** Runs the programs that the model writes. Without a sandbox the agent has no exec tools, and no program runs. */
  readonly sandbox?: Sandbox
  /** Limits for uploaded files, and functions that scan or summarise uploaded files. */
  readonly attachments?: AttachmentPolicy
  readonly tools?: readonly Tool[]
  /**
   * Chooses the tools that can be called in a turn. It is called when the turn starts, and its choice is stored. The system text still
   * lists all tools, so the provider's cache stays valid. If it fails, no tool can be called in the turn.
   */
  readonly toolsFor?: ToolsFor
  /** MCP servers whose tools the agent can call. The caller must close the servers, because the agent does not. */
  readonly mcp?: McpServers
  /** The memory, knowledge and skills that the built-in tools read and search. The timeline is always available to the built-in tools. */
  readonly builtIn?: Omit<BuiltInOptions, 'contextTokens' | 'documents'>
  /** Decides which calls run, which wait for a person, and which are refused. See also `approval` of a tool. */
  readonly approve?: ApprovalRule
  readonly instructions?: string
  readonly customisation?: string
  readonly settings?: Partial<AgentSettings>
  readonly hooks?: readonly Partial<HookFunctions>[]
  /**
   * Adds sections to the announce, which is at the end of every prompt that asks for a decision. The sections are not part of the timeline
   * and are never cached.
   */
  readonly announce?: AnnounceFunction
  /** Prices and cache rules of the providers. Usage reports read them. */
  readonly bookkeeping?: Bookkeeping
  /** Counts the tokens of a text. Without it, or when it throws, tokens are estimated. */
  readonly tokens?: TokenCounter
  /** Makes traces of turns, model calls and tools, such as `openTelemetry` of `daybook/telemetry`. */
  readonly telemetry?: Telemetry
  /** Called for every journal entry of every conversation, for example to collect metrics. */
  readonly onEntry?: (conversationId: string, event: EntryEvent) => void
  /** Called for failures that no caller sees, such as an error thrown by a hook or a listener. */
  readonly onProblem?: (problem: Problem) => void
}
