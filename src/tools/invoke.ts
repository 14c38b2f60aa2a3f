import { isObject } from '../core/json.ts'
import { presentable } from '../core/secrets.ts'
import { orLeftBehind } from './left-behind.ts'
import { failed } from './outcome.ts'
import { isThenable } from './thenable.ts'
import type { Call, Outcome, Tool } from './tool.ts'

/** How a call came to its end besides its outcome. */
export interface Invoked {
  readonly outcome: Outcome
  /** It was told to stop and did not come to an end of its own. */
  readonly stopped: boolean
  /** It did not even stop: whatever it still does, its result is ignored. */
  readonly leftBehind: boolean
}

type Params = Parameters<Tool['run']>[0]

/** How long a tool may take to stop once it was told to. */
export const STOP_GRACE_MS = 5_000

/**
 * Runs a tool to an outcome, whatever it does: a throw is a failed call, a timeout is a failed call, and a tool that ignores its
 * signal is left behind. One that was told to stop before it began does not begin. Never throws.
 */
export function invoke(
  tool: Tool,
  params: Params,
  call: Call,
  { stopGraceMs = STOP_GRACE_MS }: { readonly stopGraceMs?: number } = {},
): Invoked | Promise<Invoked> {
  if (call.signal.aborted) return { outcome: notStarted, stopped: true, leftBehind: false }
  return tool.timeoutMs === undefined ? run(tool, params, call, stopGraceMs) : runInTime(tool, params, call, stopGraceMs, tool.timeoutMs)
}

async function runInTime(tool: Tool, params: Params, call: Call, graceMs: number, ms: number): Promise<Invoked> {
  const { signal, cancel } = startDeadline(call.signal, ms)
  const invoked = await run(tool, params, { ...call, signal }, graceMs)
  cancel()
  return invoked
}

/** Only a tool that is not done when it returns can be waited for, or left behind. */
function run(tool: Tool, params: Params, call: Call, graceMs: number): Invoked | Promise<Invoked> {
  try {
    const running = tool.run(params, call)
    return isThenable(running) ? waitFor(running, call.signal, graceMs) : ended(running, call.signal)
  } catch (error) {
    return broke(error, call.signal)
  }
}

async function waitFor(running: Promise<Outcome>, signal: AbortSignal, graceMs: number): Promise<Invoked> {
  return (await orLeftBehind(settle(running, signal), signal, graceMs)) ?? { ...stoppedBy(signal), leftBehind: true }
}

async function settle(running: Promise<Outcome>, signal: AbortSignal): Promise<Invoked> {
  try {
    return ended(await running, signal)
  } catch (error) {
    return broke(error, signal)
  }
}

const ended = (outcome: Outcome, signal: AbortSignal): Invoked =>
  !outcome.ok && signal.aborted ? stoppedBy(signal) : { outcome, stopped: false, leftBehind: false }

const broke = (error: unknown, signal: AbortSignal): Invoked =>
  signal.aborted ? stoppedBy(signal) : { outcome: failed('tool_call_error', messageOf(error)), stopped: false, leftBehind: false }

/** A signal that also fires when the time is up. */
function startDeadline(from: AbortSignal, ms: number): { readonly signal: AbortSignal; cancel(): void } {
  const stopping = new AbortController()
  const stop = () => stopping.abort(from.reason)
  const timer = setTimeout(() => stopping.abort(timedOut(ms)), ms)
  from.addEventListener('abort', stop, { once: true })
  return {
    signal: stopping.signal,
    cancel() {
      clearTimeout(timer)
      from.removeEventListener('abort', stop)
    },
  }
}

const SAID_NOTHING = 'The tool failed and did not say why.'

/** Anything can be thrown, and some of it cannot even be printed. Nobody meant it for the model: nothing of our disk, no credential. */
export function messageOf(error: unknown): string {
  try {
    const said = isObject(error) && typeof error.message === 'string' ? error.message : String(error ?? '')
    return said.trim() === '' ? SAID_NOTHING : presentable(said)
  } catch {
    return SAID_NOTHING
  }
}

function stoppedBy({ reason }: AbortSignal): Invoked {
  const timeout = reason instanceof Error && reason.name === 'TimeoutError'
  const outcome = timeout
    ? failed('tool_timeout', reason.message)
    : failed('tool_cancelled', 'The call was cancelled before it finished; whether it had any effect is not known.')
  return { outcome, stopped: !timeout, leftBehind: false }
}

const notStarted = failed('tool_cancelled', 'The call was cancelled before the tool was started: it had no effect.')

const timedOut = (ms: number) =>
  new DOMException(`The tool did not finish within ${ms} ms and was stopped; whether it had any effect is not known.`, 'TimeoutError')
