import { isObject } from '../core/json.ts'
import { redact } from '../core/redact.ts'
import { failed } from './outcome.ts'
import type { Call, Outcome, Tool } from './tool.ts'

/** How a call came to its end besides its outcome. */
export interface Invocation {
  readonly outcome: Outcome
  /** It was told to stop and did not come to an end of its own. */
  readonly stopped: boolean
  /** It did not even stop: whatever it still does, its result is ignored. */
  readonly abandoned: boolean
}

type Params = Parameters<Tool['run']>[0]

/** How long a tool may take to stop once it was told to. */
export const defaultStopGraceMs = 5_000

/**
 * Runs a tool to an outcome, whatever it does: a throw is a failed call, a timeout is a failed call, and a tool that ignores its
 * signal is left behind. One that was told to stop before it began does not begin. Never throws.
 */
export function invoke(
  tool: Tool,
  params: Params,
  call: Call,
  { stopGraceMs = defaultStopGraceMs }: { readonly stopGraceMs?: number } = {},
): Invocation | Promise<Invocation> {
  if (call.signal.aborted) return { outcome: cancelledBeforeStart, stopped: true, abandoned: false }
  return tool.timeoutMs === undefined
    ? run(tool, params, call, stopGraceMs)
    : runWithTimeout(tool, params, call, stopGraceMs, tool.timeoutMs)
}

async function runWithTimeout(tool: Tool, params: Params, call: Call, graceMs: number, ms: number): Promise<Invocation> {
  const { signal, cancel } = startDeadline(call.signal, ms)
  const invoked = await run(tool, params, { ...call, signal }, graceMs)
  cancel()
  return invoked
}

/** Only a tool that is not done when it returns can be waited for, or left behind. */
function run(tool: Tool, params: Params, call: Call, graceMs: number): Invocation | Promise<Invocation> {
  try {
    const running = tool.run(params, call)
    return isThenable(running) ? waitFor(running, call.signal, graceMs) : finishedInvocation(running, call.signal)
  } catch (error) {
    return failedInvocation(error, call.signal)
  }
}

async function waitFor(running: Promise<Outcome>, signal: AbortSignal, graceMs: number): Promise<Invocation> {
  return (await withGracePeriod(settle(running, signal), signal, graceMs)) ?? { ...stoppedInvocation(signal), abandoned: true }
}

async function settle(running: Promise<Outcome>, signal: AbortSignal): Promise<Invocation> {
  try {
    return finishedInvocation(await running, signal)
  } catch (error) {
    return failedInvocation(error, signal)
  }
}

const finishedInvocation = (outcome: Outcome, signal: AbortSignal): Invocation =>
  !outcome.ok && signal.aborted ? stoppedInvocation(signal) : { outcome, stopped: false, abandoned: false }

const failedInvocation = (error: unknown, signal: AbortSignal): Invocation =>
  signal.aborted
    ? stoppedInvocation(signal)
    : { outcome: failed('tool_call_error', messageForModel(error)), stopped: false, abandoned: false }

/** A signal that also fires when the time is up. */
function startDeadline(from: AbortSignal, ms: number): { readonly signal: AbortSignal; cancel(): void } {
  const stopping = new AbortController()
  const stop = () => stopping.abort(from.reason)
  const timer = setTimeout(() => stopping.abort(timeoutError(ms)), ms)
  from.addEventListener('abort', stop, { once: true })
  return {
    signal: stopping.signal,
    cancel() {
      clearTimeout(timer)
      from.removeEventListener('abort', stop)
    },
  }
}

const NO_MESSAGE = 'The tool failed and did not say why.'

/** Anything can be thrown, and some of it cannot even be printed. Nobody meant it for the model: nothing of our disk, no credential. */
export function messageForModel(error: unknown): string {
  try {
    const said = isObject(error) && typeof error.message === 'string' ? error.message : String(error ?? '')
    return said.trim() === '' ? NO_MESSAGE : redact(said)
  } catch {
    return NO_MESSAGE
  }
}

function stoppedInvocation({ reason }: AbortSignal): Invocation {
  const timeout = reason instanceof Error && reason.name === 'TimeoutError'
  const outcome = timeout
    ? failed('tool_timeout', reason.message)
    : failed('tool_cancelled', 'The call was cancelled before it finished; whether it had any effect is not known.')
  return { outcome, stopped: !timeout, abandoned: false }
}

const cancelledBeforeStart = failed('tool_cancelled', 'The call was cancelled before the tool was started: it had no effect.')

const timeoutError = (ms: number) =>
  new DOMException(`The tool did not finish within ${ms} ms and was stopped; whether it had any effect is not known.`, 'TimeoutError')

/**
 * The work's own end, or undefined when it was told to stop and is still not done after the grace. Whatever it does then is nobody's
 * business any more.
 */
export function withGracePeriod<T>(
  work: Promise<T>,
  signal: AbortSignal,
  graceMs: number,
  onLeft: () => void = () => {},
): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined
    const arm = () => {
      timer = setTimeout(() => {
        onLeft()
        resolve(undefined)
      }, graceMs)
    }
    const disarm = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', arm)
    }
    if (signal.aborted) arm()
    else signal.addEventListener('abort', arm)
    work.then(
      (result) => {
        disarm()
        resolve(result)
      },
      (error: unknown) => {
        disarm()
        reject(error)
      },
    )
  })
}

/** What `await` would wait for. Whoever has a plain value in hand need not. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  return typeof (value as { readonly then?: unknown }).then === 'function'
}
