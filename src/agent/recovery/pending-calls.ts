import { type Block, type BlockOrigin, readToolCall } from '../../core/block/index.ts'
import { checkCall } from '../../core/decision/check-call.ts'
import { parseRecordedResponse } from '../../core/decision/native-response.ts'
import { readDecision } from '../../core/decision/read.ts'
import type { CallFinished, Change, ResponseReceived } from '../../core/timeline/change.ts'
import { blockAt, blocksOfTurn, type Timeline } from '../../core/timeline/timeline.ts'
import { callWithId } from '../../tools/call-id.ts'
import type { Invocation } from '../../tools/invoke.ts'
import { failed, withNotices } from '../../tools/outcome.ts'
import { restoreOutcome, withChild } from '../../tools/stored-outcome.ts'
import type { Outcome } from '../../tools/tool.ts'
import type { TurnServices } from '../agent-context.ts'
import type { Progress } from '../turn/progress.ts'
import { type PendingCall, runnableCall, settleCalls } from '../turn/several-calls.ts'
import type { CheckedCall } from '../turn/tool-call.ts'
import type { Turn } from '../turn/turn.ts'
import { dropQuestions } from '../waits/ask-person.ts'
import { type CallDecided, decisionId, openWaits, readDecisionEvent } from '../waits/wait-events.ts'
import { lookUpCall, withdrawCall } from './look-up.ts'
import { editedNotice, endWait } from './waiting-calls.ts'

/** The calls of the last round that have no result, in order. */
export function callsWithoutResult(timeline: Timeline, turnId: string): readonly Block[] {
  const blocks = blocksOfTurn(timeline, turnId)
  const last = blocks.findLast(({ type }) => type === 'react.tool.call')
  const answered = new Set(blocks.flatMap(({ type, call_id }) => (type === 'react.tool.result' ? [call_id] : [])))
  const isOfRound = (block: Block) =>
    block === last || (block.type === 'react.tool.call' && block.meta?.iteration === last?.meta?.iteration)
  return blocks.filter((block) => isOfRound(block) && !answered.has(block.call_id))
}

/**
 * Settles the calls of a round during which the process died, each by itself. The first rule that applies is used:
 *
 *   the journal has its outcome (`call.finished`)   the outcome is used
 *   it waits, or a late result has arrived          `endWait` decides
 *   its tool had not started                        the tool runs
 *   its tool has `lookUp`, which knows the outcome  this outcome is used
 *   `lookUp` says that the call was not done        the tool runs
 *   its tool is repeatable                          the tool runs again
 *   otherwise                                       the model is told that the outcome is unknown
 *
 * If the process has died too often during a call, the tool does not run again, and the model is told so.
 */
export async function settlePendingCalls(
  turn: Turn,
  progress: Progress,
  blocks: readonly Block[],
  changes: readonly Change[],
): Promise<Progress> {
  await dropQuestions(turn)
  const { timeline } = turn.conversation.ledger
  const finished = new Set(changes.flatMap((change) => (change.type === 'call.finished' ? [change.call_id] : [])))
  const waits = new Set(openWaits(timeline).map(({ call_id }) => call_id))
  const running = blocks.filter(({ call_id = '' }) => !finished.has(call_id) && !waits.has(call_id))
  const calls: PendingCall[] = []
  for (const block of blocks) calls.push(await pendingCall(turn, progress, block, changes, mayHaveStarted(block, running, changes)))
  return settleCalls(turn, progress, calls)
}

/**
 * Whether the tool of a call may have run. The groups of calls run one after the other. Therefore, if a call of an earlier group has not
 * ended, the tools of a later group have not run. There is one exception: an earlier call may have waited while the later group ran:
 *
 *   a waits   b runs   the process dies   a is approved   a runs   the process dies again: both may have run
 */
function mayHaveStarted(block: Block, running: readonly Block[], changes: readonly Change[]): boolean {
  const endOfWait = ({ call_id }: Block) =>
    changes.findLastIndex((change) => change.type === 'turn.resumed' && change.wait_ids.some((id) => id.endsWith(`-${call_id}`)))
  const groupOf = ({ meta }: Block) => meta?.group ?? 0
  return running.every((other) => groupOf(other) >= groupOf(block) || endOfWait(other) > endOfWait(block))
}

/** Settles one call. `started` is true when the tool may have run. */
async function pendingCall(
  turn: Turn,
  progress: Progress,
  block: Block,
  changes: readonly Change[],
  started: boolean,
): Promise<PendingCall> {
  const { turnId, agent, conversation } = turn
  const toolId = readToolCall(block)?.tool_id ?? block.tool_id ?? 'unknown'
  const origin: BlockOrigin = { turnId, callId: block.call_id ?? '', iteration: progress.iteration - 1, ts: block.ts }
  const written = parseRecordedCall(agent, changes, origin)
  const finished = changes.find((change): change is CallFinished => change.type === 'call.finished' && change.call_id === origin.callId)
  const seen = timelineAtDecision(conversation.ledger.timeline, origin)
  const withdraw = async () => (written ? withdrawCall(turn, progress, written, seen) : undefined)
  const end = finished ? undefined : await endWait(turn, { origin, toolId, runnable: written !== undefined, withdraw })
  const decision = end?.kind === 'approved' ? end.decision : decisionIn(changes, origin.callId)
  const checked = written && decision?.params ? { ...written, params: decision.params } : written
  const notices = decision?.params ? [editedNotice(toolId, decision)] : []
  const known = (outcome: Outcome): PendingCall => ({
    origin,
    toolId,
    parallel: true,
    ...(checked && { checked }),
    settle: () => withNotices(outcome, notices),
  })

  if (finished) return known((await restoreOutcome(finished.outcome, conversation.blobs)) ?? unknownOutcome(toolId))
  if (end?.kind === 'outcome') return known(end.outcome)
  if (end?.kind === 'waits') return { origin, toolId, parallel: true, settle: () => 'waits' }
  if (!checked) return known(started ? unknownOutcome(toolId) : notStarted(toolId))
  const runnable = runnableCall(turn, checked, seen, notices)
  if (!started || end?.kind === 'approved' || end?.kind === 'again') return runnable
  const attempts = 1 + changes.filter((change) => change.type === 'call.repeated' && change.call_id === origin.callId).length

  const noted = (invocation: Invocation): Invocation => ({ ...invocation, outcome: withNotices(invocation.outcome, notices) })

  async function run(before: Progress, entered: Timeline | undefined): Promise<Invocation> {
    if (attempts >= agent.settings.maxCallAttempts) return invocationOf(withChild(gaveUp(toolId, attempts), await withdraw()))
    await conversation.ledger.commit([{ type: 'call.repeated', turn_id: turnId, call_id: origin.callId, ts: agent.clock.now() }])
    return runnable.settle(before, entered)
  }

  async function settle(before: Progress, entered: Timeline | undefined): Promise<Invocation> {
    const found = checked?.tool.lookUp ? await lookUpCall(turn, before, checked, seen) : 'unknown'
    if (typeof found === 'object') return noted(invocationOf(found))
    if (found === 'not-done') return run(before, entered)
    // If a steer is waiting or the time limit is reached, the tool is not repeated. It would be aborted before it starts, and its result
    // would not tell the model that the tool may have run before.
    const mayRepeat = checked?.tool.repeatable && !conversation.inbox.hasSteer() && !conversation.inbox.timeUp
    return mayRepeat ? run(before, entered) : noted(invocationOf((await withdraw()) ?? unknownOutcome(toolId)))
  }
  return { ...runnable, settle }
}

const invocationOf = (settled: Outcome | Invocation): Invocation =>
  'outcome' in settled ? settled : { outcome: settled, stopped: false, abandoned: false }
/** What a person decided about a call before the process died. Undefined when the call needed no approval. */
function decisionIn(changes: readonly Change[], callId: string): CallDecided | undefined {
  const accepted = changes.find((change) => change.type === 'event.accepted' && change.event.event_id === decisionId(callId))
  return accepted?.type === 'event.accepted' ? readDecisionEvent(accepted.event) : undefined
}

/** The timeline that the model saw when it made the calls of a round. It has no blocks of that round. */
function timelineAtDecision(timeline: Timeline, { turnId, iteration }: BlockOrigin): Timeline {
  let { size } = timeline
  for (; size > 0; size--) {
    const block = blockAt(timeline, size - 1)
    if (block?.turn_id !== turnId || block.meta?.iteration !== iteration) break
  }
  return { ...timeline, size }
}

/**
 * Reads a call from the journaled response, because the parameters in the block of the call are shortened. Undefined when the response is
 * missing, or when the call would be rejected now.
 */
function parseRecordedCall({ settings, toolbox }: TurnServices, changes: readonly Change[], origin: BlockOrigin): CheckedCall | undefined {
  const response = changes.findLast(
    (change): change is ResponseReceived =>
      change.type === 'response.received' && change.role === undefined && change.iteration === origin.iteration,
  )
  if (!response) return undefined
  const { finish_reason, call_id: first } = response
  const finishReason = finish_reason === 'length' ? 'length' : 'stop'
  const recorded = parseRecordedResponse(response, { finishReason, maxTokens: settings.decision.maxTokens })
  const reading = readDecision(recorded, { tools: toolbox.signatures })
  if (!reading.ok || reading.decision.action !== 'call_tool') return undefined
  const requested = callWithId(reading.decision, first, origin.callId)
  const checked = requested && checkCall(requested, toolbox.signatures)
  const tool = requested && toolbox.find(requested.toolId)
  return tool && checked?.ok ? { origin, tool, params: checked.params, code: requested.code, notes: reading.decision.notes } : undefined
}

/** The outcome of a call that was running when the process died, for a tool that must not run twice. */
const unknownOutcome = (toolId: string): Outcome =>
  failed(
    'outcome_unknown',
    `The process stopped while ${toolId} was running. Whether it had its effect is not known; it was not run again.`,
    {
      notices: [
        {
          code: 'tool_call_error.outcome_unknown',
          message: `${toolId} was interrupted by a restart and may or may not have had its effect. Find out before you call it again.`,
        },
      ],
    },
  )

/** The outcome of a call that never ran, and whose tool does not exist any more. */
const notStarted = (toolId: string): Outcome =>
  failed('tool_cancelled', `The process stopped before ${toolId} was started, and now the call is not possible any more: it had no effect.`)

/** The outcome of a repeatable call during which the process died `attempts` times. The tool or its result may be the reason. */
const gaveUp = (toolId: string, attempts: number): Outcome =>
  failed('gave_up', `The process stopped ${attempts} times while ${toolId} was running. It was not run again.`, {
    notices: [
      {
        code: 'tool_call_error.gave_up',
        message: `${toolId} was started ${attempts} times, and each time the process stopped before it returned. Do not make this call again; ask for less, or use another way.`,
      },
    ],
  })
