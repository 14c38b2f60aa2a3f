import { cutAt } from '../core/cut.ts'
import { isObject } from '../core/json.ts'
import { redact } from '../core/secrets.ts'
import { limitOutcome } from './limit-result.ts'
import { failed } from './outcome.ts'
import type { Call, Outcome, Tool } from './tool.ts'

/** The outcome of a call, and how the call ended. */
export interface Invocation {
  readonly outcome: Outcome
  /** True when the call was cancelled before it finished. */
  readonly stopped: boolean
  /** True when the tool ignored its signal and may still be running. Its result is ignored. */
  readonly abandoned: boolean
}

/** Limits of a call. */
export interface InvokeLimits {
  /** How many milliseconds a tool may take to stop after its signal was aborted. */
  readonly stopGraceMs: number
  /** How many bytes the result may have. If the result has more, its output is stored as a file. */
  readonly maxResultBytes: number
}

type Params = Parameters<Tool['run']>[0]

/**
 * Runs a tool. It never throws: an exception or a timeout becomes a failed outcome. After the signal was aborted, the tool has
 * `stopGraceMs` milliseconds to return a result, which is still used. A later result is ignored. If the signal was aborted before the call,
 * the tool does not run.
 */
export function invoke(tool: Tool, params: Params, call: Call, limits: InvokeLimits): Invocation | Promise<Invocation> {
  if (call.signal.aborted) return { outcome: cancelledBeforeStart(call.signal), stopped: true, abandoned: false }
  return tool.timeoutMs === undefined ? run(tool, params, call, limits) : runWithTimeout(tool, params, call, limits, tool.timeoutMs)
}

async function runWithTimeout(tool: Tool, params: Params, call: Call, limits: InvokeLimits, ms: number): Promise<Invocation> {
  const { signal, cancel } = startDeadline(call.signal, ms)
  const invocation = await run(tool, params, { ...call, signal }, limits)
  cancel()
  return invocation
}

function run(tool: Tool, params: Params, call: Call, limits: InvokeLimits): Invocation | Promise<Invocation> {
  try {
    const running = tool.run(params, call)
    const needsNoLimit = isThenable(running) || isSmall(running, limits.maxResultBytes)
    const limited = needsNoLimit ? running : limitOutcome(running, call, limits.maxResultBytes)
    return isThenable(limited) ? waitFor(limited, call, limits) : finishedInvocation(limited, call.signal)
  } catch (error) {
    return failedInvocation(error, call.signal)
  }
}

async function waitFor(running: PromiseLike<Outcome>, call: Call, limits: InvokeLimits): Promise<Invocation> {
  const { signal } = call
  return (
    (await withGracePeriod(settle(running, call, limits), signal, limits.stopGraceMs)) ?? { ...stoppedInvocation(signal), abandoned: true }
  )
}

async function settle(running: PromiseLike<Outcome>, call: Call, { maxResultBytes }: InvokeLimits): Promise<Invocation> {
  try {
    const outcome = await running
    return finishedInvocation(isSmall(outcome, maxResultBytes) ? outcome : await limitOutcome(outcome, call, maxResultBytes), call.signal)
  } catch (error) {
    return failedInvocation(error, call.signal)
  }
}

/**
 * Whether the output is a short text, or an object whose values are numbers and short texts. Most outputs are of this kind, and need no
 * further check of their size.
 */
function isSmall({ output, error }: Outcome, maxBytes: number): boolean {
  if (error !== undefined) return false
  if (typeof output === 'string') return output.length * 3 <= maxBytes
  if (typeof output !== 'object' || output === null) return true
  if (Symbol.asyncIterator in output) return false
  let bytes = 0
  for (const key of Object.keys(output)) {
    const value = (output as { readonly [key: string]: unknown })[key]
    if (typeof value === 'object' && value !== null) return false
    bytes += 3 * key.length + (typeof value === 'string' ? 3 * value.length : 30)
  }
  return bytes <= maxBytes
}

/**
 * The invocation of a tool that has returned. The report of an exec tool is used even if the call was cancelled, because it lists the files
 * that the program has written.
 */
const finishedInvocation = (outcome: Outcome, signal: AbortSignal): Invocation =>
  !outcome.ok && !outcome.report && signal.aborted ? stoppedInvocation(signal) : { outcome, stopped: false, abandoned: false }

const failedInvocation = (error: unknown, signal: AbortSignal): Invocation =>
  signal.aborted
    ? stoppedInvocation(signal)
    : { outcome: failed('tool_call_error', messageForModel(error)), stopped: false, abandoned: false }

/** A signal that fires when the parent signal fires or after `ms` milliseconds. */
function startDeadline(parent: AbortSignal, ms: number): { readonly signal: AbortSignal; cancel(): void } {
  const controller = new AbortController()
  const stop = () => controller.abort(parent.reason)
  const timer = setTimeout(() => controller.abort(timeoutError(ms)), ms)
  parent.addEventListener('abort', stop, { once: true })
  return {
    signal: controller.signal,
    cancel() {
      clearTimeout(timer)
      parent.removeEventListener('abort', stop)
    },
  }
}

/** How long an error message for the model may be. Some libraries put whole responses into their messages. */
const MAX_MESSAGE_CHARS = 4_000

const NO_MESSAGE = 'The tool failed and did not say why.'

/**
 * The message of a thrown value, for the model. Absolute paths and credentials are removed. Never throws, even if the value can not be
 * converted to a string.
 */
export function messageForModel(error: unknown): string {
  try {
    const message = isObject(error) && typeof error.message === 'string' ? error.message : String(error ?? '')
    return message.trim() === '' ? NO_MESSAGE : redact(cutAt(message, MAX_MESSAGE_CHARS))
  } catch {
    return NO_MESSAGE
  }
}

function stoppedInvocation({ reason }: AbortSignal): Invocation {
  if (isNamed(reason, 'TimeoutError')) return { outcome: failed('tool_timeout', reason.message), stopped: false, abandoned: false }
  const outcome = isNamed(reason, 'TimeLimitError')
    ? failed('tool_timeout', `${reason.message} before the call finished; whether the call had any effect is not known.`)
    : failed('tool_cancelled', 'The call was cancelled before it finished; whether it had any effect is not known.')
  return { outcome, stopped: true, abandoned: false }
}

const isNamed = (reason: unknown, name: 'TimeoutError' | 'TimeLimitError'): reason is Error =>
  reason instanceof Error && reason.name === name

const cancelledBeforeStart = ({ reason }: AbortSignal): Outcome =>
  failed(
    'tool_cancelled',
    `${isNamed(reason, 'TimeLimitError') ? reason.message : 'The call was cancelled'} before the tool was started: it had no effect.`,
  )

/** The outcome of a call whose result can not be stored or shown. */
export const unfitResult = failed(
  'result_unfit',
  'The tool ran, but what it returned cannot be entered or shown. Whatever it did is done: do not call it again only to see the result.',
)

const timeoutError = (ms: number) =>
  new DOMException(`The tool did not finish within ${ms} ms and was stopped; whether it had any effect is not known.`, 'TimeoutError')

/** Waits for the promise. Resolves to undefined when the promise is still pending `graceMs` milliseconds after the signal has fired. */
function withGracePeriod<T>(work: Promise<T>, signal: AbortSignal, graceMs: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  return new Promise<T | undefined>((resolve, reject) => {
    const startTimer = () => {
      timer = setTimeout(() => resolve(undefined), graceMs)
    }
    const stopTimer = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', startTimer)
    }
    if (signal.aborted) startTimer()
    else signal.addEventListener('abort', startTimer)
    work.finally(stopTimer).then(resolve, reject)
  })
}

/** Whether `await` would wait for the value. This is also true for promises from another realm, such as a `vm` context. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  return typeof (value as { readonly then?: unknown }).then === 'function'
}
