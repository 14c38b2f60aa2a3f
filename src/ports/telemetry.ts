import type { RulesOf } from '../core/cache/rules.ts'
import type { ChargeOf } from '../core/cost/price.ts'
import type { TokenCounter } from '../core/estimate/tokens.ts'
import type { EntryEvent } from '../core/event.ts'
import type { Model } from './model.ts'
import type { Entry } from './store.ts'

/** Observes agents, for example to send traces. An agent without telemetry calls none of these functions. */
export interface Telemetry {
  /** Called once when an agent is created. */
  observe(agent: ObservedAgent): AgentTelemetry
}

/** The functions of an agent that telemetry may call. */
export interface ObservedAgent {
  readonly rulesOf: RulesOf
  readonly chargeOf: ChargeOf
  readonly count: TokenCounter
  readJournal(conversationId: string): AsyncIterable<Entry>
  onProblem(problem: { readonly where: string; readonly error: unknown }): void
}

/** The functions that an agent calls while its turns run. They must not throw errors, except that `tool` passes on an error of the tool. */
export interface AgentTelemetry {
  /** Returns a model that works like the given model and is observed. */
  model(model: Model): Model
  /** Runs a tool and returns its outcome. If the tool throws, the same error is thrown. */
  tool<T extends ObservedOutcome>(call: ObservedCall, run: () => T | Promise<T>): T | Promise<T>
  /** Called for every journal entry that this process writes. */
  onEntry(conversationId: string, event: EntryEvent): void
  /** Called when the agent is closed. No other function is called after it. */
  close(): void
}

/** A call of a tool. */
export interface ObservedCall {
  readonly conversationId: string
  readonly turnId: string
  readonly callId: string
  readonly toolId: string
  readonly description: string
}

/** The part of a tool's outcome that telemetry reads. */
export interface ObservedOutcome {
  readonly ok: boolean
  readonly error?: { readonly code: string }
}
