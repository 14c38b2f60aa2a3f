import type { JsonObject } from '../core/json.ts'

/**
 * The MCP servers of an agent. A server is started when it is needed for the first time, and all conversations of the agent share it.
 * Callers must parse all data of a server, because a server is not trusted.
 */
export interface McpServers {
  /** The names of the servers, in the order of the configuration. */
  readonly names: readonly string[]
  /**
   * Returns the tools of each server. The first call starts the servers and waits for their answers, but not longer than the configuration
   * of each server allows. Later calls do not wait. They return the tools that are known at that time. The promise never rejects.
   */
  list(): Promise<readonly McpServerState[]>
  /** Returns the states of the servers, as far as they are known now. Unlike `list`, it neither waits nor starts a server. */
  latest(): readonly McpServerState[]
  /** Calls a tool. The promise never rejects. */
  call(request: McpCall): Promise<McpAnswer>
  /** Ends all servers and their processes. */
  close(): Promise<void>
}

/** What is known about a server. */
export interface McpServerState {
  readonly server: string
  /** The tools as the server has sent them. Undefined when the server has not answered. */
  readonly tools?: readonly unknown[]
  /** Why the server, or a part of its tools, can not be used now. The text is for people and models. */
  readonly problem?: string
  /** Whether Daybook trusts the annotations of the server's tools. */
  readonly trusted?: boolean
  /**
   * The names of the tools that the agent may use. `*` at the end of a name stands for any text. If undefined, the agent may use all tools.
   */
  readonly allowed?: readonly string[]
}

/** A call of a tool of a server. */
export interface McpCall {
  readonly server: string
  /** The name of the tool, as the server calls it. */
  readonly name: string
  readonly params: JsonObject
  /**
   * The conversation that makes the call. A question of the server is passed only to a conversation with a running call to which the
   * question can belong.
   */
  readonly conversationId: string
  readonly signal: AbortSignal
  /** Called when the server reports progress. */
  onProgress?(text: string): void
  /** Passes a question of the server to a person. The time until the reply is not part of the time that the call may take. */
  ask?(question: McpQuestion, signal: AbortSignal): Promise<McpReply>
}

/** What a server wants to know from a person. */
export interface McpQuestion {
  readonly message: string
  /** The JSON Schema of the reply: an object with simple fields. */
  readonly schema: JsonObject
}

/** The reply to a question. `cancel`: no person has answered. */
export type McpReply =
  | { readonly action: 'accept'; readonly content: JsonObject }
  | { readonly action: 'decline' }
  | { readonly action: 'cancel' }

/** The answer to a call: the result as the server has sent it, or why there is none. */
export type McpAnswer =
  | { readonly kind: 'result'; readonly result: JsonObject }
  /** The server has refused the call. */
  | { readonly kind: 'error'; readonly message: string }
  /** The server could not be reached, so the tool was not called. */
  | { readonly kind: 'unavailable'; readonly message: string }
  /** The server stopped, did not answer in time or sent an invalid answer. It is not known whether the call had an effect. */
  | { readonly kind: 'lost'; readonly message: string }
