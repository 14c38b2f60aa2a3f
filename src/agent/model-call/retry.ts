import { setTimeout as sleep } from 'node:timers/promises'
import type { ServiceError } from '../../core/model-event.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Model } from '../../ports/model.ts'
import type { TurnServices } from '../agent-context.ts'
import type { Turn } from '../turn/turn.ts'
import { withModel } from '../turn/turn-options.ts'

/**
 * The longest pause that the provider may ask for. If it asks for a longer pause, `callModel` does not wait and does not repeat the call.
 */
const maxRetryAfterSeconds = 60

/** Whether a failed call may be repeated after a short pause. */
export const mayRetry = ({ retryable, retry_after_seconds = 0 }: ServiceError): boolean =>
  retryable && retry_after_seconds <= maxRetryAfterSeconds

/**
 * Waits for the pause of the settings or for the pause that the provider asked for, whichever is longer. Returns early when the signal
 * aborts.
 */
export async function waitBeforeRetry(
  { settings, clock }: TurnServices,
  retry: number,
  error: ServiceError,
  signal: AbortSignal,
): Promise<void> {
  const pause = Math.max(settings.retryDelaysMs[retry] ?? 0, (error.retry_after_seconds ?? 0) * 1000)
  const jitter = (Number.parseInt(clock.randomHex(4), 16) / 0xffff) * 0.25 * pause
  await sleep(pause + jitter, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
}

/** The model that is asked while the provider of the usual model can not answer. */
export interface FallbackModel {
  readonly model: Model
  /** Whether a model is known to be busy, so that asking it would only take time. */
  isBusy(model: Model): boolean
  /** Records that a model can not answer, until the time that its provider has named. */
  setBusy(model: Model, error: ServiceError): void
}

export function createFallback(model: Model, clock: Pick<Clock, 'now'>): FallbackModel {
  const busyUntil = new WeakMap<Model, number>()
  const now = () => Date.parse(clock.now())
  return {
    model,
    isBusy: (usual) => (busyUntil.get(usual) ?? 0) > now(),
    setBusy: (usual, { retry_after_seconds: seconds = maxRetryAfterSeconds }) => busyUntil.set(usual, now() + seconds * 1000),
  }
}

/**
 * The turn with the fallback model, its dialect and its system text. Undefined when there is no fallback model, or when the turn already
 * uses it.
 */
export function withFallback(turn: Turn): Turn | undefined {
  const { fallback, models } = turn.agent
  if (!fallback || fallback.model === models.decision) return undefined
  return { ...turn, agent: withModel(turn.agent, fallback.model) }
}

/** Whether the provider is the reason of the failure, so that another provider may be able to answer. */
export const isProviderTrouble = ({ kind, retryable }: ServiceError): boolean =>
  retryable || kind === 'rate_limited' || kind === 'overloaded'
