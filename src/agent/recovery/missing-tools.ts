import { type Block, readToolCall } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { isChildKey } from '../../core/scope.ts'
import type { Timeline } from '../../core/timeline/timeline.ts'
import type { Clock } from '../../ports/clock.ts'
import type { ConversationStore, OfferedEvent } from '../../ports/store.ts'
import { entriesOfTurn } from '../conversation/history.ts'
import type { Toolbox } from '../tools.ts'
import { interruptsTurn } from '../turn/incoming-events.ts'
import { wakes } from '../waits/child-waits.ts'
import { completionId, decisionId, isExpired, readDecisionEvent, waitOf } from '../waits/wait-events.ts'
import { callsWithoutResult } from './pending-calls.ts'

/*
 * Two applications may use one store by mistake, for example if `daybook serve` runs in the folder of an application. The agent of the
 * command then finds calls of tools that only the agent of the application has. A tool may also be missing because a new version of the
 * application has removed it. The store does not show which of the two cases it is. Therefore the turn is not continued until a user writes
 * again.
 */

type Tools = Pick<Toolbox, 'find' | 'mayHave'>

/** The tools of the calls without a result that this agent does not have. */
export const missingToolsIn = (timeline: Timeline, tools: Tools): readonly string[] => [
  ...new Set(callsOfMissingTools(timeline, tools).map(toolOf)),
]

function callsOfMissingTools(timeline: Timeline, { find, mayHave }: Tools): readonly Block[] {
  const { openTurn } = timeline
  if (!openTurn) return []
  return callsWithoutResult(timeline, openTurn.turn_id).filter((call) => !find(toolOf(call)) && !mayHave?.(toolOf(call)))
}

const toolOf = (call: Block): string => readToolCall(call)?.tool_id ?? call.tool_id ?? 'unknown'

interface Resumption {
  readonly conversationId: string
  readonly timeline: Timeline
  readonly lastSeq: number
  /** The events that are not in the journal yet. */
  readonly offers: readonly OfferedEvent[]
}

interface Parts {
  readonly store: Pick<ConversationStore, 'readJournal'>
  readonly toolbox: Tools
  readonly clock: Pick<Clock, 'now'>
}

/**
 * Throws `tool.missing` if the open turn has a call whose tool this agent does not have, and if this call was approved or its sub-agent has
 * to continue. Calls whose tool has already started are not checked, because they can be settled without the tool. The turns of sub-agents
 * are not checked either, because the tool that opened the conversation of a sub-agent has chosen its agent.
 */
export async function checkToolsOfTurn(
  { store, toolbox, clock }: Parts,
  { conversationId, timeline, lastSeq, offers }: Resumption,
): Promise<void> {
  const { openTurn, inbox } = timeline
  if (!openTurn || isChildKey(conversationId)) return
  const calls = callsOfMissingTools(timeline, toolbox)
  if (calls.length === 0) return
  const events = [...inbox, ...offers]
  if (offers.some(({ kind }) => kind === 'followup') || events.some((event) => interruptsTurn(event, openTurn.turn_id))) return
  const { changes } = await entriesOfTurn(store, conversationId, lastSeq, openTurn.turn_id)
  const settled = new Set(changes.flatMap((change) => (change.type === 'call.finished' ? [change.call_id] : [])))
  const now = clock.now()

  function needsTool({ call_id: callId = '' }: Block): boolean {
    if (settled.has(callId) || events.some(({ event_id }) => event_id === completionId(callId))) return false
    const wait = waitOf(timeline, { callId })
    if (!wait || wait.running) return false // The tool was running when the process died, so the model is told that the outcome is unknown.
    if (wait.kind === 'child') return isExpired(wait, now) || events.some((event) => wakes(event, wait))
    const decision = readDecisionEvent(events.find(({ event_id }) => event_id === decisionId(callId)))
    return wait.kind === 'approval' && decision?.approved === true && !isExpired(wait, decision.ts)
  }

  const missing = [...new Set(calls.filter(needsTool).map(toolOf))]
  if (missing.length > 0) throw missingTool(missing)
}

const missingTool = (tools: readonly string[]) =>
  new Failure(
    'tool.missing',
    `this agent has no tool ${tools.join(', ')}, and an approved call needs it, so the turn is not resumed: run the agent that has the tool. If the tool was removed, send a message to the conversation: the model is then told that the call did not run`,
    { details: { tools } },
  )

/** Whether the error says that a turn was not continued, because this agent does not have one of its tools. */
export const isMissingTool = (error: unknown): error is Failure => error instanceof Failure && error.code === 'tool.missing'
