import { costOfTurn, noSums, type TurnCost, type TurnUsage } from '../../core/cost/turn-usage.ts'
import type { FinalDecision } from '../../core/decision/decision.ts'
import type { JsonObject } from '../../core/json.ts'
import { selectSources } from '../../core/sources/pool.ts'
import type { SourceRow } from '../../core/sources/source.ts'
import type { StoredTurnOptions, Wait } from '../../core/timeline/change.ts'
import { blocksOfTurn, emptyTimeline, hasKind, startOfTurn, type Timeline } from '../../core/timeline/timeline.ts'
import { filesOfTurn } from '../../core/view/turn-files.ts'
import type { FileView } from '../../core/view/visible-event.ts'
import { describeWaits, type TurnWait } from '../waits/describe-wait.ts'
import { citablePhrases, citedSources, withExistingCitations } from './closing.ts'
import { type OutputRefusal, refusalOf } from './output.ts'
import type { Progress } from './progress.ts'
import type { Turn } from './turn.ts'

/** Why a turn ended. */
export type ExitReason =
  | 'complete'
  | 'exit'
  | 'max_iterations'
  | 'time'
  | 'budget'
  | 'unpriced'
  | 'protocol_violation'
  | 'steer'
  | 'error'
  | 'cancelled'
  /** The turn is not over. It waits for a person or a late result, and continues when something arrives. */
  | 'waiting'

/** The result of a turn for the caller of `run`. */
export interface TurnResult<Output = unknown> {
  readonly turnId: string
  readonly exitReason: ExitReason
  readonly ok: boolean
  readonly answer: string
  /** The output, if the turn has an output schema and the model gave it. It matches the schema. `answer` is this output as a JSON text. */
  readonly output?: Output
  /** Why there is no output although the turn has an output schema. */
  readonly refusal?: OutputRefusal
  readonly followups: readonly string[]
  readonly sourcesUsed: readonly number[]
  /** The sources that the answer cites, in the order of `sourcesUsed`. */
  readonly sources: readonly SourceRow[]
  /** The files that the agent made for users in this turn, the newest version of each. A file has an `rn` if users can download it. */
  readonly files: readonly FileView[]
  /** True when the answer was cut off, or when a limit of rounds, time or money ended the turn. */
  readonly truncated: boolean
  /** Set when the user stopped the turn while the model was writing the answer. `answer` is the part that users saw. */
  readonly stopped?: true
  readonly usage: TurnUsage
  readonly cost: TurnCost
  /** How many decisions the model was asked for, including those that were rejected or interrupted. 0 when the turn has not ended. */
  readonly rounds: number
  readonly timings: TurnTimings
  /** The options of this turn. If a running turn has read the message, these are the options of that turn. Missing when there were none. */
  readonly options?: StoredTurnOptions
  /** The object that the model wrote in the channel `usage` of its answer. It has no relation to the tokens that the provider billed. */
  readonly writtenUsage?: JsonObject
  readonly error?: Error
  /** What the turn waits for. Set if `exitReason` is `waiting`. */
  readonly waits?: readonly TurnWait[]
}

/** When a turn ran, and for how many milliseconds. */
export interface TurnTimings {
  readonly startedAt: string
  /** Missing when the turn has not ended. */
  readonly endedAt?: string
  /** The time from the start of the turn to its end. 0 when the turn has not ended. */
  readonly totalMs: number
  /** The time of all calls that ask the model for a decision, with their retries. Calls of an earlier process are not counted. */
  readonly modelMs: number
  /**
   * The time of all tool calls. Calls of an earlier process are not counted. If tools run at the same time, the time of each is counted.
   */
  readonly toolMs: number
}

/** The exit reasons of turns that have not failed. */
export const okReasons: ReadonlySet<string> = new Set<ExitReason>(['complete', 'exit', 'max_iterations', 'time', 'budget', 'steer'])

const truncatedReasons: ReadonlySet<string> = new Set<ExitReason>(['max_iterations', 'time', 'budget'])

/** The result of a turn that has just been closed. */
export function turnResult(
  { turnId, agent, conversation, times }: Turn,
  { iteration, budget }: Progress,
  decision: FinalDecision,
  exitReason: ExitReason,
  error: Error | undefined,
): TurnResult {
  const { timeline } = conversation.ledger
  return {
    turnId,
    ...endFields(exitReason, decision.truncated),
    ...answerFields(decision, timeline),
    ...(agent.options?.output && outputFields(decision, exitReason)),
    files: filesMadeIn(timeline, turnId),
    ...(decision.stopped && { stopped: true }),
    usage: { ...conversation.spending.of(turnId).usage },
    cost: conversation.spending.cost(turnId),
    rounds: iteration,
    timings: { ...timesOf(new Date(budget.startedAt).toISOString(), timeline.lastTs), ...times },
    ...(agent.options && { options: agent.options }),
    ...(decision.usage && { writtenUsage: decision.usage }),
    ...(error && { error }),
  }
}

/** The files that the turn made for users. Most turns make none, so the blocks are read only if there may be an artifact. */
const filesMadeIn = (timeline: Timeline, turnId: string): readonly FileView[] =>
  hasKind(timeline, 'artifact', startOfTurn(timeline, turnId)) ? filesOfTurn(blocksOfTurn(timeline, turnId), turnId) : []

/** The output of a turn that has an output schema, or why there is none. */
export const outputFields = ({ output, answer }: Pick<FinalDecision, 'output' | 'answer'>, exitReason: ExitReason) =>
  output ? { output: output.value } : { refusal: refusalOf(exitReason, answer) }

/** The fields of a result that depend on how the turn ended. `truncated` tells whether the answer was cut off. */
export const endFields = <Reason extends string>(exitReason: Reason, truncated: boolean) => ({
  exitReason,
  ok: okReasons.has(exitReason),
  truncated: truncated || truncatedReasons.has(exitReason),
})

/** The fields of a result that depend on the answer. Citations of sources that do not exist are left out. */
export function answerFields({ answer, followups, output }: Pick<FinalDecision, 'answer' | 'followups' | 'output'>, timeline: Timeline) {
  const sourcesUsed = citedSources(answer, timeline)
  return {
    answer: output ? answer : withExistingCitations(answer, timeline),
    followups: citablePhrases(followups, timeline),
    sourcesUsed,
    sources: selectSources(timeline.sources, sourcesUsed).rows,
  }
}

/** The times of a turn. `endedAt` is undefined if the turn has not ended. */
export const timesOf = (startedAt: string, endedAt: string | undefined): Pick<TurnTimings, 'startedAt' | 'endedAt' | 'totalMs'> =>
  endedAt === undefined ? { startedAt, totalMs: 0 } : { startedAt, endedAt, totalMs: Date.parse(endedAt) - Date.parse(startedAt) }

/** The result for a message to a conversation that another process runs, if this agent is closed before the message is answered. */
export const cancelledBeforeAnswer = (turnId: string): TurnResult => ({
  turnId,
  ...endFields('cancelled' as const, false),
  ...answerFields({ answer: '', followups: [] }, emptyTimeline()),
  files: [],
  usage: noSums().usage,
  cost: costOfTurn(noSums(), undefined),
  rounds: 0,
  timings: { ...timesOf('', undefined), modelMs: 0, toolMs: 0 },
})

/** The result of a turn that stays open, because the agent is being closed or another process has claimed the conversation. */
export function cancelledResult({ turnId, agent, conversation: { ledger, spending }, times }: Turn): TurnResult {
  const { timeline } = ledger
  return {
    turnId,
    ...endFields('cancelled' as const, false),
    ...answerFields({ answer: '', followups: [] }, timeline),
    files: filesMadeIn(timeline, turnId),
    usage: { ...spending.of(turnId).usage },
    cost: spending.cost(turnId),
    rounds: 0,
    timings: { ...timesOf(timeline.openTurn?.ts ?? '', undefined), ...times },
    ...(agent.options && { options: agent.options }),
  }
}

/** The result of a turn that stays open and waits. */
export async function waitingResult(turn: Turn, waits: readonly Wait[]): Promise<TurnResult> {
  const { turnId, conversation } = turn
  const blocks = blocksOfTurn(conversation.ledger.timeline, turnId)
  return {
    ...cancelledResult(turn),
    exitReason: 'waiting',
    waits: await describeWaits(waits, blocks, async () => (await conversation.entriesOfTurn(turnId)).changes),
  }
}
