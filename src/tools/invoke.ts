import { failed } from './outcome.ts'
import type { Call, Outcome, Tool } from './tool.ts'

/** How a call came to its end besides its outcome. */
export interface Invoked {
  readonly outcome: Outcome
  /** The tool did not stop when told to: whatever it still does, its result is ignored. */
  readonly leftBehind: boolean
}

/** How long a tool may take to stop once it was told to. */
export const STOP_GRACE_MS = 5_000

/**
 * Runs a tool to an outcome, whatever it does: a throw is a failed call, a timeout is a failed call, and a tool that ignores its
 * signal is left behind. Never throws.
 */
export async function invoke(
  tool: Tool,
  params: Readonly<Record<string, unknown>>,
  call: Call,
  { stopGraceMs = STOP_GRACE_MS }: { readonly stopGraceMs?: number } = {},
): Promise<Invoked> {
  const stopping = new AbortController()
  const stop = () => stopping.abort(call.signal.reason)
  if (call.signal.aborted) stop()
  else call.signal.addEventListener('abort', stop, { once: true })
  const timer = tool.timeoutMs === undefined ? undefined : setTimeout(() => stopping.abort(timedOut(tool.timeoutMs)), tool.timeoutMs)

  const running = settle(tool, params, { ...call, signal: stopping.signal })
  const abandoned = whenLeftBehind(stopping.signal, stopGraceMs)
  try {
    return await Promise.race([running, abandoned.promise])
  } finally {
    clearTimeout(timer)
    abandoned.cancel()
    call.signal.removeEventListener('abort', stop)
  }
}

async function settle(tool: Tool, params: Readonly<Record<string, unknown>>, call: Call): Promise<Invoked> {
  try {
    const outcome = await tool.run(params, call)
    return { outcome: call.signal.aborted && !outcome.ok ? stopped(call.signal) : outcome, leftBehind: false }
  } catch (error) {
    if (call.signal.aborted) return { outcome: stopped(call.signal), leftBehind: false }
    return { outcome: failed('tool_call_error', error instanceof Error ? error.message : String(error)), leftBehind: false }
  }
}

function whenLeftBehind(signal: AbortSignal, graceMs: number): { readonly promise: Promise<Invoked>; cancel(): void } {
  let timer: NodeJS.Timeout | undefined
  let arm: () => void = () => {}
  const promise = new Promise<Invoked>((resolve) => {
    arm = () => {
      timer = setTimeout(() => resolve({ outcome: stopped(signal), leftBehind: true }), graceMs)
    }
    if (signal.aborted) arm()
    else signal.addEventListener('abort', arm, { once: true })
  })
  return {
    promise,
    cancel() {
      clearTimeout(timer)
      signal.removeEventListener('abort', arm)
    },
  }
}

const stopped = ({ reason }: AbortSignal): Outcome =>
  reason instanceof Error && reason.name === 'TimeoutError'
    ? failed('tool_timeout', reason.message)
    : failed('tool_cancelled', 'The call was cancelled before it finished; whether it had any effect is not known.')

const timedOut = (ms: number | undefined) =>
  new DOMException(`The tool did not finish within ${ms} ms and was stopped; whether it had any effect is not known.`, 'TimeoutError')
