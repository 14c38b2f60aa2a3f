import { setTimeout as sleep } from 'node:timers/promises'
import type { BlockOrigin } from '../../core/block/index.ts'
import type { CitationFormat } from '../../core/citations/replace.ts'
import { createCitationRewriter } from '../../core/citations/replace.ts'
import type { Attempt } from '../../core/compaction/overflow.ts'
import { createEarlyCheck } from '../../core/decision/early-check.ts'
import { decisionChannels } from '../../core/decision/response.ts'
import type { ServiceError } from '../../core/model-event.ts'
import { sourcesBySid } from '../../core/sources/pool.ts'
import { createLanes, type Lanes } from '../../core/stream/lanes.ts'
import type { RetriedAttempt } from '../../core/timeline/change.ts'
import { mimeOf } from '../../tools/mime.ts'
import type { Activity } from '../conversation/inbox.ts'
import type { ModelSettings } from '../settings.ts'
import { compactAfterOverflow } from '../turn/context-window.ts'
import type { Progress } from '../turn/progress.ts'
import { buildDecisionPrompt, type DecisionPrompt } from '../turn/prompt.ts'
import type { Turn } from '../turn/turn.ts'
import { type ModelResponse, readResponse } from './read-response.ts'
import { isOverflowError, retriedAttempt } from './response.ts'

/** A question put to the model and everything it said. */
export interface ModelCall {
  readonly response: ModelResponse
  readonly prompt: DecisionPrompt
  /** How often it was put before, in vain. */
  readonly attempt: number
  /** What that cost. */
  readonly retried: readonly RetriedAttempt[]
  /** A steer, or the end of the turn, cut it short. */
  readonly interrupted: boolean
}

const maxOverflows = 3 // as many as there are attempts to make room
/** A provider that wants to be left alone for longer is not waited for: the user hears of it at once. */
const maxRetryAfterSeconds = 60

/**
 * Shows the timeline to the model and listens. Tries again by itself where the user cannot have noticed: a provider that failed
 * before anything was shown, a prompt that turned out too long. Whatever else happens is in what was heard.
 */
export async function callModel(
  turn: Turn,
  progress: Progress,
  place: BlockOrigin,
  model: ModelSettings,
  wrapUp?: true,
): Promise<ModelCall> {
  const phase = turn.inbox.beginActivity()
  const { signal } = phase
  let retries = 0
  let squeezes = 0
  let retried: readonly RetriedAttempt[] = []
  try {
    for (let attempt = 0; ; attempt++) {
      const prompt = buildDecisionPrompt(turn, progress, place.ts, wrapUp)
      const heard = await callOnce(turn, place, prompt, model, { attempt, phase })
      const interrupted = signal.aborted && !heard.violation // a violation stops the phase itself
      const asked = { response: heard, prompt, attempt, retried, interrupted }
      const { error } = heard
      if (interrupted || !error || heard.showedAnything()) return asked
      if (isOverflowError(error)) {
        squeezes = await compactUntilSmaller(turn, squeezes)
        if (squeezes > maxOverflows && !signal.aborted) return asked
      } else if (mayRetry(error) && retries < turn.settings.retryDelaysMs.length) {
        turn.emit({ type: 'status', turn_id: place.turnId, iteration: place.iteration, status: 'retrying', error })
        await waitBeforeRetry(turn, retries++, error, signal)
      } else return asked
      if (signal.aborted) return { ...asked, interrupted: true }
      const cost = retriedAttempt(heard, prompt)
      if (cost) retried = [...retried, cost]
    }
  } finally {
    phase.end()
  }
}

/** Squeezes harder and harder until something leaves the context. Returns how often it has squeezed; once too often, in vain. */
async function compactUntilSmaller(turn: Turn, before: number): Promise<number> {
  for (let attempt = before + 1; attempt <= maxOverflows && !turn.inbox.hasSteer; attempt++) {
    if (await compactAfterOverflow(turn, attempt as Attempt)) return attempt
  }
  return maxOverflows + 1
}

function callOnce(
  turn: Turn,
  place: BlockOrigin,
  prompt: DecisionPrompt,
  { maxTokens, temperature }: ModelSettings,
  { attempt, phase }: { readonly attempt: number; readonly phase: Activity },
): Promise<ModelResponse> {
  const { turnId: turn_id, iteration } = place
  turn.emit({ type: 'status', turn_id, iteration, status: 'deciding' })
  const request = {
    role: 'decision' as const,
    system: turn.system,
    parts: prompt.parts,
    maxTokens,
    temperature,
    cacheKey: turn.conversationId,
    read: turn.readBlob,
  }
  return readResponse(() => turn.models.decision.stream(request, phase.signal), phase, {
    graceMs: turn.settings.stopGraceMs,
    channels: decisionChannels,
    createLanes: () => createResponseLanes(turn, place),
    earlyCheck: createEarlyCheck(),
    watchers: turn.watchers,
    emit: (delta) => turn.emit({ type: 'lane.delta', turn_id, iteration, attempt, delta }),
  })
}

function createResponseLanes({ ledger }: Turn, { iteration, callId: executionId }: BlockOrigin): Lanes {
  const sources = () => sourcesBySid(ledger.timeline.sources)
  const replacer = (format: CitationFormat) => createCitationRewriter({ format, sources, stripUsage: true, keepUnresolved: false })
  return createLanes({ iteration, executionId, replacer, mimeOf })
}

const mayRetry = ({ retryable, retry_after_seconds = 0 }: ServiceError) => retryable && retry_after_seconds <= maxRetryAfterSeconds

/** Never sooner than the provider asked for. */
async function waitBeforeRetry({ settings, clock }: Turn, retry: number, error: ServiceError, signal: AbortSignal): Promise<void> {
  const pause = Math.max(settings.retryDelaysMs[retry] ?? 0, (error.retry_after_seconds ?? 0) * 1000)
  const jitter = (Number.parseInt(clock.randomHex(4), 16) / 0xffff) * 0.25 * pause
  await sleep(pause + jitter, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
}
