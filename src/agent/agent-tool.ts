import { createHash } from 'node:crypto'
import { type ChildCall, recordedCalls } from '../core/cost/child-calls.ts'
import { InvalidOption } from '../core/options.ts'
import { childKey, depthOf } from '../core/scope.ts'
import type { OutputOf, StandardSchemaV1 } from '../core/standard-schema.ts'
import type { Change } from '../core/timeline/change.ts'
import { pausesTurn } from '../core/timeline/waits.ts'
import type { ConversationInfo } from '../ports/store/list.ts'
import { defineTool, type ToolDefinition } from '../tools/define.ts'
import { failed, succeeded } from '../tools/outcome.ts'
import { childWaits } from '../tools/stored-outcome.ts'
import type { Call, LateResult, LookUp, Outcome, Tool } from '../tools/tool.ts'
import type { Agent } from './agent-interface.ts'
import { isMissing } from './deletion.ts'
import { isParked } from './waits/child-waits.ts'

/** The second argument of `agentTool`. */
export interface AgentToolOptions<Schema extends StandardSchemaV1>
  extends Pick<ToolDefinition<Schema>, 'description' | 'params' | 'parameters' | 'parallel' | 'timeoutMs' | 'returns' | 'constraints'> {
  /** The id of the tool, in the form `namespace.name`. The default is `agents.ask`. */
  readonly id?: string
  /**
   * The message for the sub-agent. By default, it is the value of the parameter if the tool has only one parameter. Otherwise it has a line
   * `name: value` for each parameter.
   */
  prompt?(params: OutputOf<Schema>): string
}

/** How deep sub-agents can be nested. */
const maxDepth = 3

/**
 * The event id of the message to the sub-agent. A repeated call sends the message again with this id, and the second message has no effect.
 */
const messageId = 'ask'

/**
 * After how many milliseconds a call sends its message again. If the process that had the claim of the sub-agent's conversation has died,
 * the repeated message continues this conversation.
 */
const RETRY_MS = 5_000

/**
 * Makes a tool that gives a task to another agent. Each call opens a separate conversation for this sub-agent. The id of this conversation
 * is derived from the call (`childConversationId`). Therefore a call that is repeated after a crash continues the same conversation. The
 * answer of the sub-agent is the result of the call. The cost of the sub-agent's model calls is part of the cost of the calling
 * conversation.
 */
export function agentTool<Schema extends StandardSchemaV1>(agent: Agent, options: AgentToolOptions<Schema>): Tool {
  if (typeof agent?.send !== 'function' || typeof agent.follow !== 'function')
    throw new InvalidOption('agentTool', 'agent', 'an agent of createAgent is expected')
  const { id = 'agents.ask', prompt = promptOf, parallel = true, ...definition } = options
  const tool = defineTool({
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
  return { ...tool, withdraw: (idempotencyKey, signal) => stopChild(agent, childConversationId(idempotencyKey), signal) }
}

/** The id of the conversation that a call opens for its sub-agent. The `idempotencyKey` of a call is `<conversation>/<turn>/<call>`. */
export function childConversationId(idempotencyKey: string): string {
  const parent = idempotencyKey.split('/').slice(0, -2).join('/')
  return childKey(parent, createHash('sha256').update(idempotencyKey).digest('hex').slice(0, 12))
}

/** The default message: the value of the parameter if the tool has only one parameter, and otherwise a line for each parameter. */
function promptOf(params: unknown): string {
  if (typeof params !== 'object' || params === null) return String(params)
  const entries = Object.entries(params)
  const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
  if (entries.length === 1) return textOf(entries[0]?.[1])
  return entries.map(([name, value]) => `${name}: ${textOf(value)}`).join('\n')
}

/**
 * Sends the message to the sub-agent, unless the sub-agent has it already, and waits for the end of the sub-agent's turn. If this turn
 * waits for something, the call also waits and is run again later. If the call is stopped, the sub-agent's turn is also stopped. If the
 * calling agent is closed, the sub-agent's turn stays open, and the repeated call continues it.
 */
async function runChild(agent: Agent, child: string, text: string, { signal, clock, onProblem }: Call): Promise<Outcome> {
  const ask = () => agent.send(child, text, { eventId: messageId })
  const report = (error: unknown) => onProblem?.({ where: `sub-agent ${child}`, error })
  const ended = new AbortController()
  let parked: ConversationInfo | undefined
  const stop = () => {
    if (isClosing(signal.reason)) ended.abort()
    else agent.stop(child).catch(report)
  }
  const endIfParked = async () => {
    const head = await agent.archive.head(child)
    if (!isParked(head, clock.now())) return
    parked = head
    ended.abort()
  }
  await ask()
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  const timer = setInterval(() => ask().then(endIfParked).catch(report), RETRY_MS)
  try {
    for await (const event of agent.follow(child, { signal: ended.signal })) {
      if (event.type !== 'entry') continue
      if (event.change.type === 'turn.closed') return await resultOf(agent, child, event.change.turn_id)
      if (mayPark(event.change)) await endIfParked()
    }
    return parked ? childWaits(child, waitFor(parked)) : failed('child_interrupted', 'The sub-agent was interrupted before it finished.')
  } finally {
    clearInterval(timer)
    signal.removeEventListener('abort', stop)
  }
}

/**
 * Whether the turn of the sub-agent may be waiting after this change. The result is also true for an accepted event, because a turn that
 * was waiting may still wait after the event.
 */
const mayPark = (change: Change): boolean =>
  change.type === 'event.accepted' || change.type === 'event.folded' || (change.type === 'turn.waiting' && pausesTurn(change))

/** The wait of the calling conversation while its sub-agent waits. It says what the sub-agent waits for. */
function waitFor({ waits, dueAt }: ConversationInfo): LateResult {
  const question = waits.find((wait) => wait.question !== undefined)?.question
  const note = question?.startsWith(WAITS) ? question : question === undefined ? undefined : `${WAITS}${question}`
  return { ...(note !== undefined && { note }), ...(dueAt !== null && { expiresAt: dueAt }) }
}

const WAITS = 'A sub-agent waits: '

/**
 * Stops the turn of a sub-agent when the caller does not need its result any more. Returns the result of the turn. Undefined when the
 * sub-agent has no turn.
 */
async function stopChild(agent: Agent, child: string, signal: AbortSignal): Promise<Outcome | undefined> {
  const head = await headIfAny(agent, child)
  if (!head || head.lastSeq === 0) return undefined
  if (head.openTurn !== null) {
    // If the turn waits, the stop is stored, and the turn reads it when it is continued. If the process of the turn has died, the turn must
    // be continued before it can be stopped. It may begin to wait before the stop arrives, so there is a second attempt.
    for (const _attempt of [1, 2]) {
      await agent.stop(child)
      // This event id was used before, so the message has no effect except that the turn is continued.
      await agent.send(child, 'Stop.', { eventId: messageId })
    }
    await untilClosed(agent, child, signal)
  }
  const turnId = await closedTurnOf(agent, child)
  return turnId === undefined ? undefined : resultOf(agent, child, turnId)
}

async function untilClosed(agent: Agent, child: string, signal: AbortSignal): Promise<void> {
  for await (const event of agent.follow(child, { signal })) if (event.type === 'entry' && event.change.type === 'turn.closed') return
}

/** Whether a call was aborted because the calling agent is closed. A call can also be aborted by a steer or a time limit. */
const isClosing = (reason: unknown): boolean => reason instanceof Error && reason.message === 'The agent is closing.'

/** The first turn of the sub-agent, if it has ended. */
async function closedTurnOf(agent: Agent, child: string): Promise<string | undefined> {
  const head = await headIfAny(agent, child)
  if (!head || head.openTurn !== null || head.lastSeq === 0) return undefined
  return (await agent.archive.timeline(child)).blocks.find(({ type }) => type === 'turn.header')?.turn_id
}

async function headIfAny(agent: Agent, child: string): Promise<ConversationInfo | undefined> {
  try {
    return await agent.archive.head(child)
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
