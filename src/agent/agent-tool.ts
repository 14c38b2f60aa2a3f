import { createHash } from 'node:crypto'
import { type ChildCall, recordedCalls } from '../core/cost/child-calls.ts'
import { InvalidOption } from '../core/options.ts'
import { childKey, depthOf } from '../core/scope.ts'
import type { OutputOf, StandardSchemaV1 } from '../core/standard-schema.ts'
import { defineTool, type ToolDefinition } from '../tools/define.ts'
import { failed, succeeded } from '../tools/outcome.ts'
import type { Call, LookUp, Outcome, Tool } from '../tools/tool.ts'
import type { Agent } from './agent.ts'
import { isMissing } from './deletion.ts'

/** The second argument of `agentTool`. */
export interface AgentToolOptions<Schema extends StandardSchemaV1>
  extends Pick<ToolDefinition<Schema>, 'description' | 'params' | 'parameters' | 'parallel' | 'timeoutMs' | 'returns' | 'constraints'> {
  /** The id of the tool, in the form `namespace.name`. The default is `agents.ask`. */
  readonly id?: string
  /** The message for the sub-agent. By default it is the only text of the parameters, or a line for each parameter. */
  prompt?(params: OutputOf<Schema>): string
}

/** How deep sub-agents can be nested. */
const maxDepth = 3

/** The event id of the message to the sub-agent. A repeated call sends the message again with this id, and then it has no effect. */
const messageId = 'ask'

/** How often a call asks again while another process may hold the sub-agent's conversation. */
const RETRY_MS = 5_000

/**
 * Makes a tool that gives a task to another agent. Each call opens a conversation of its own for this sub-agent. Its id is derived from the
 * call (`childConversationId`), so that a call that is repeated after a crash continues the same conversation. The answer of the sub-agent
 * is the result of the call, and the cost of its model calls is part of the cost of the calling conversation.
 */
export function agentTool<Schema extends StandardSchemaV1>(agent: Agent, options: AgentToolOptions<Schema>): Tool {
  if (typeof agent?.send !== 'function' || typeof agent.follow !== 'function')
    throw new InvalidOption('agentTool', 'agent', 'an agent of createAgent is expected')
  const { id = 'agents.ask', prompt = promptOf, parallel = true, ...definition } = options
  return defineTool({
    ...definition,
    id,
    parallel,
    repeatable: true,
    async run(params, call): Promise<Outcome> {
      if (depthOf(call.conversationId) >= maxDepth)
        return failed('too_deep', `Sub-agents can be nested at most ${maxDepth} levels deep. Do this task yourself.`)
      return runChild(agent, childConversationId(call.idempotencyKey), prompt(params), call)
    },
    async lookUp(idempotencyKey): Promise<LookUp> {
      const child = childConversationId(idempotencyKey)
      const turnId = await closedTurnOf(agent, child)
      return turnId === undefined ? 'unknown' : resultOf(agent, child, turnId)
    },
  })
}

/** The id of the conversation that a call opens for its sub-agent. `idempotencyKey` is that of the call: `<conversation>/<turn>/<call>`. */
export function childConversationId(idempotencyKey: string): string {
  const parent = idempotencyKey.split('/').slice(0, -2).join('/')
  return childKey(parent, createHash('sha256').update(idempotencyKey).digest('hex').slice(0, 12))
}

/** The default message: the only text of the parameters, or a line for each parameter. */
function promptOf(params: unknown): string {
  if (typeof params !== 'object' || params === null) return String(params)
  const entries = Object.entries(params)
  const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
  if (entries.length === 1) return textOf(entries[0]?.[1])
  return entries.map(([name, value]) => `${name}: ${textOf(value)}`).join('\n')
}

/**
 * Sends the message to the sub-agent, unless it has it already, and waits for the end of its turn. When the call is stopped, the turn of the
 * sub-agent is stopped, too. When the calling agent is closed, the turn stays open, and the repeated call continues it.
 */
async function runChild(agent: Agent, child: string, text: string, { signal, onProblem }: Call): Promise<Outcome> {
  const ask = () => agent.send(child, text, { eventId: messageId })
  const report = (error: unknown) => onProblem?.({ where: `sub-agent ${child}`, error })
  const ended = new AbortController()
  const stop = () => {
    if (isClosing(signal.reason)) ended.abort()
    else agent.stop(child).catch(report)
  }
  await ask()
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  const timer = setInterval(() => ask().catch(report), RETRY_MS)
  try {
    for await (const event of agent.follow(child, { signal: ended.signal })) {
      if (event.type === 'entry' && event.change.type === 'turn.closed') return await resultOf(agent, child, event.change.turn_id)
    }
    return failed('child_interrupted', 'The sub-agent was interrupted before it finished.')
  } finally {
    clearInterval(timer)
    signal.removeEventListener('abort', stop)
  }
}

/** Whether the calling agent was closed. Otherwise the user has steered, or a time limit was reached. */
const isClosing = (reason: unknown): boolean => reason instanceof Error && reason.message === 'The agent is closing.'

/** The first turn of the sub-agent, if it has ended. */
async function closedTurnOf(agent: Agent, child: string): Promise<string | undefined> {
  try {
    const { openTurn, lastSeq } = await agent.archive.head(child)
    if (openTurn !== null || lastSeq === 0) return undefined
    return (await agent.archive.timeline(child)).blocks.find(({ type }) => type === 'turn.header')?.turn_id
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

async function resultOf(agent: Agent, child: string, turnId: string): Promise<Outcome> {
  const { ok, answer, exitReason } = await agent.archive.turnResult(child, turnId)
  const record = { child: { conversation_id: child, turn_id: turnId, calls: await callsOf(agent, child) } }
  return ok
    ? succeeded({ output: answer, ...record })
    : failed('child_failed', `The sub-agent could not finish (${exitReason}).`, { output: answer, ...record })
}

/** The model calls of the sub-agent, up to the end of its turn. */
async function callsOf(agent: Agent, child: string): Promise<readonly ChildCall[]> {
  const calls: ChildCall[] = []
  for await (const event of agent.follow(child)) {
    if (event.type !== 'entry') continue
    calls.push(...recordedCalls(event.change))
    if (event.change.type === 'turn.closed') break
  }
  return calls
}
