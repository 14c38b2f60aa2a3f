import { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { Agent } from '../agent/agent-interface.ts'
import { ConversationId } from '../core/api/conversation.ts'
import type { MachineCheck } from '../core/api/info.ts'
import { Failure } from '../core/failure.ts'
import { childMark, conversationKey } from '../core/scope.ts'
import type { Caller } from './auth/authenticate.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { invalidRequest } from './problem.ts'
import type { ServerSettings } from './settings.ts'

/** The environment type of Hono: the values that every authenticated request has. */
export interface Env {
  readonly Variables: { caller: Caller; requestId: string }
}

export type App = OpenAPIHono<Env>

/** The objects and functions that the routes use. */
export interface ServerParts {
  readonly agent: Agent
  readonly settings: ServerSettings
  readonly log: Log
  readonly metrics: Metrics
  readonly now: () => string
  readonly newId: () => string
  /** Checks what works on this machine, for operators. Without this function, no checks are made. */
  readonly checkMachine?: () => Promise<readonly MachineCheck[]>
  /** Aborted when the server begins to shut down. */
  readonly shutdown: AbortSignal
  /** Aborted when the time that running turns have to finish is over. The streams of single turns stay open until then. */
  readonly stopped: AbortSignal
}

/** Makes a group of routes. A request that does not match the schema of its route gets the problem `request.invalid`. */
export const createRoutes = (): App =>
  new OpenAPIHono<Env>({
    defaultHook: (result) => {
      if (!result.success) throw invalidRequest(result.error.issues)
    },
  })

/**
 * The key under which the store has the conversation that the path names. The key contains the scope of the caller, so no path can access
 * data of another user.
 */
export function conversationKeyOf(c: Context<Env>): string {
  const name = c.req.param('id') ?? ''
  if (!ConversationId.safeParse(name).success) throw new Failure('conversation.missing', 'there is no such conversation')
  return conversationKey(c.get('caller').scope, name)
}

/**
 * The key under which the store has the conversation that the path names. The conversation may also be one of a sub-agent. People can not
 * send messages to sub-agents, but they can decide about the calls of sub-agents.
 */
export function conversationOrChildKeyOf(c: Context<Env>): string {
  const name = c.req.param('id') ?? ''
  const parts = name.split(childMark)
  if (!parts.every((part) => ConversationId.safeParse(part).success))
    throw new Failure('conversation.missing', 'there is no such conversation')
  return conversationKey(c.get('caller').scope, name)
}
