import { omitUndefined } from '../json.ts'
import { completionPath } from '../path/build.ts'
import type { Draft } from './block.ts'

export interface Completion {
  readonly text: string
  readonly sourcesUsed?: readonly number[]
  readonly iteration?: number
  /** One-based place among the turn's completions; the last one has no number in its path. */
  readonly index?: number
  readonly count?: number
  /** The answer was cut by the output limit. */
  readonly truncated?: boolean
}

/** What the user is told. The path without a number is always the latest completion of the turn. */
export function completionBlock(turnId: string, ts: string, completion: Completion): Draft<'assistant.completion'> {
  const { index, count } = completion
  const several = index !== undefined && count !== undefined && count > 1
  return {
    type: 'assistant.completion',
    author: 'assistant',
    turn_id: turnId,
    ts,
    mime: 'text/markdown',
    path: completionPath(turnId, several && index < count ? index : undefined),
    text: completion.text,
    meta: omitUndefined({
      sources_used: completion.sourcesUsed,
      iteration: completion.iteration,
      truncated: completion.truncated,
      completion_index: several ? index : undefined,
      completion_count: several ? count : undefined,
    }),
  }
}
