import type { BlockOrigin } from '../../core/block/index.ts'
import { execStatusDelta } from '../../core/stream/lanes-exec.ts'
import type { Outcome } from '../../tools/tool.ts'
import type { Turn } from '../turn/turn.ts'

/** When the program of an exec tool started, and how long the model took to write it. */
export interface ExecStart {
  readonly at: number
  readonly codegen: number
}

/** Shows clients that the program runs now. */
export function emitExecStart({ turnId: turn_id, agent, conversation }: Turn, { iteration, callId, ts }: BlockOrigin): ExecStart {
  const at = Date.parse(agent.clock.now())
  const codegen = at - Date.parse(ts)
  const delta = execStatusDelta(callId, 'exec', { timings: { codegen } })
  conversation.live.emit({ type: 'lane.delta', turn_id, iteration, attempt: 0, delta })
  return { at, codegen }
}

/** Shows clients how the program ended. */
export function emitExecEnd(
  { turnId: turn_id, agent, conversation }: Turn,
  { iteration, callId }: BlockOrigin,
  start: ExecStart,
  { ok, error }: Outcome,
) {
  const timings = { codegen: start.codegen, exec: Date.parse(agent.clock.now()) - start.at }
  const delta = ok ? execStatusDelta(callId, 'done', { timings }) : execStatusDelta(callId, 'error', { timings, error: error?.code })
  conversation.live.emit({ type: 'lane.delta', turn_id, iteration, attempt: 0, delta })
}
