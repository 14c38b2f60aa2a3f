import type { ToolServices } from '../agent-context.ts'
import { freezeTools, turnWithTools, withFrozen } from '../frozen/frozen-tools.ts'
import { collectFeedback } from '../turn/feedback.ts'
import { cancelledResult, type TurnResult } from '../turn/result.ts'
import type { TurnStart } from '../turn/start.ts'
import { runTurn, type Turn } from '../turn/turn.ts'
import { optionsForTurn, reportLostOptions, servicesFor, withOptions } from '../turn/turn-options.ts'
import { isLost } from './claim.ts'
import type { Conversation } from './context.ts'
import { restoreSpending } from './spending.ts'

/** A turn that is running, or the last turn that has ended. */
export interface RunningTurn {
  readonly result: Promise<TurnResult>
  /** The result that callers await. It resolves later than `result`, when the next turn begins or the conversation ends. */
  readonly callerResult: PromiseWithResolvers<TurnResult>
}

/** Starts a turn. It runs when the caller of the previous turn has got its result. */
export function beginTurn(conversation: Conversation, turnId: string, start: TurnStart, previous?: RunningTurn): RunningTurn {
  const callerResult = createCallerResult()
  conversation.currentResult = callerResult.promise
  conversation.inbox.startTurn(turnId, start.kind === 'message' ? start.input.eventId : undefined)
  return { result: runOneTurn(conversation, turnId, start, previous), callerResult }
}

/** Resumes a turn that waited, because something has arrived. The callers of the turn wait for its end. */
export function goOn(conversation: Conversation, turnId: string, { callerResult }: RunningTurn): RunningTurn {
  const resumed = beginTurn(conversation, turnId, { kind: 'unfinished' })
  callerResult.resolve(resumed.callerResult.promise)
  return resumed
}

export function createCallerResult(): PromiseWithResolvers<TurnResult> {
  const callerResult = Promise.withResolvers<TurnResult>()
  callerResult.promise.catch(() => {}) // without a handler, a rejection that no caller awaits would end the process
  return callerResult
}

async function runOneTurn(
  conversation: Conversation,
  turnId: string,
  start: TurnStart,
  previous: RunningTurn | undefined,
): Promise<TurnResult> {
  const { agent, ledger, spending, workspaces, journaled, abort } = conversation
  const { clock, settings, hooks } = agent
  // Before this turn begins, the caller of the previous turn must have got its result. Otherwise that caller would also see events of this
  // turn.
  if (previous) await previous.callerResult.promise
  const feedbacks = await collectFeedback(ledger, clock.now(), settings)
  const resumed = start.kind === 'unfinished'
  if (resumed) restoreSpending(spending, (await conversation.entriesOfTurn(turnId)).changes, turnId)
  const workspace = workspaces.forTurn(turnId, { resumed })
  if (resumed) await workspace.resume()
  const frozen = agent.changing && (await freezeTools(conversation, agent.changing, start, clock.now()))
  const options = await optionsForTurn(
    frozen ? { ...conversation, agent: { ...agent, toolbox: frozen.toolbox } } : conversation,
    turnId,
    start,
  )
  const services = (tools?: ToolServices) =>
    servicesFor(tools ? { ...agent, ...tools } : agent, options, (name) => agent.namedModels.get(name))
  const times = { modelMs: 0, toolMs: 0 }
  const turn: Turn = frozen
    ? turnWithTools({ turnId, conversation, workspace, times }, frozen, services)
    : { turnId, agent: services(), conversation, workspace, times }
  if (resumed && options) await reportLostOptions(turn, options.stored, agent.namedModels)
  const result = await runTurn(turn, withFrozen(withOptions(start, options), frozen?.frozen), feedbacks).catch((error: unknown) => {
    if (!isLost(error)) throw error
    abort.abort(error)
    journaled.reject(error) // has no effect if the message is already in the journal
    return cancelledResult(turn) // another process runs the turn now, or has deleted the conversation
  })
  const { exitReason } = result
  if (exitReason === 'cancelled' || exitReason === 'waiting') return result
  await workspace.writeContext('turn end')
  await hooks.onFlushCompleted({ turnId, exitReason })
  if (workspace.isOpen) await workspace.removeFinished() // after the hooks, because a hook may read the files
  return result
}
