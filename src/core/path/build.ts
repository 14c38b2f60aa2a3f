import { type Area, formatPath, type ToolRecord } from './logical.ts'

// These functions build the logical paths of new blocks, in canonical form. They do not check the ids in them: the runtime makes ids only
// from the characters `[A-Za-z0-9_-]`.

const record = (turn: string, name: string) => `ar:${turn}.${name}`

export const promptPath = (turn: string) => record(turn, 'user.prompt')

/**
 * The path of an answer. If a turn has several answers, the path of the last answer has no number. The paths of the earlier answers have
 * the numbers 1, 2 and so on.
 */
export const completionPath = (turn: string, n?: number) =>
  record(turn, n === undefined ? 'assistant.completion' : `assistant.completion.${n}`)

export const notesPath = (turn: string, call: string) => record(turn, `react.notes.${call}`)
export const thinkingPath = (turn: string, iteration: number) => record(turn, `react.thinking.${iteration}`)
export const interruptedPath = (turn: string, iteration: number) => record(turn, `react.decision.raw.interrupted.${iteration}`)
export const toolPath = (turn: string, call: string, name: ToolRecord) => `tc:${turn}.${call}.${name}`

export const planPath = (turn: string, planId: string) => record(turn, `react.plan.${planId}`)
export const planAckPath = (turn: string, iteration: number) => record(turn, `react.plan.ack.${iteration}`)
export const latestPlanPath = (planId: string) => formatPath({ space: 'ar', kind: 'latest-plan', planId })

export const stagePath = (turn: string, name: string) => record(turn, `stage.${name}`)
export const externalPath = (turn: string, kind: string, messageId: string) => record(turn, `external.${kind}.${messageId}`)
export const feedbackPath = (turn: string) => record(turn, 'feedback.latest')
export const systemMessagePath = (turn: string, key: string) => record(turn, `system.message.${key}`)

/** The path at which the agent reads the list of all calls and files of a turn. The list is computed when it is read, and not stored. */
export const turnIndexPath = (turn: string) => record(turn, 'react.turn.index')

export const summaryPath = (turn: string) => formatPath({ space: 'su', kind: 'record', turn, record: 'conv.range.summary' })
export const midTurnPath = (turn: string, k: number) => record(turn, `react.mid_turn.compaction.${k}`)
export const preservedNotePath = (turn: string, i: number) => record(turn, `react.note.preserved.${i}`)

export const filePath = (turn: string, area: Area, rel: string) =>
  formatPath({ space: 'fi', kind: 'file', turn, area, rel: rel.normalize('NFC') })

export const sourcesPath = (sids: Iterable<number>) => formatPath({ space: 'so', sids: [...sids] })

/**
 * A path to the given sources, in at most `limit` characters if possible. `sids` must be ascending. If the path with exactly these sources
 * is longer than `limit`, the result is the range from the lowest to the highest SID. This range may contain other sources too.
 */
export function shortSourcesPath(sids: readonly number[], limit: number): string {
  const exact = sourcesPath(sids)
  return exact.length <= limit ? exact : `so:sources_pool[${sids[0]}-${sids.at(-1)}]`
}

/** The path of an answer that the user saw, but that did not become the final answer. The block at `attemptOutcomePath` says why. */
export const attemptPath = (turn: string, n: number) => record(turn, `assistant.completion.attempt.${n}`)
export const attemptOutcomePath = (turn: string, n: number) => record(turn, `assistant.completion.attempt.${n}.outcome`)

export const publishPath = (turn: string) => record(turn, 'react.workspace.publish')
export const checkoutPath = (turn: string) => record(turn, 'react.workspace.checkout')
