import { setTimeout as sleep } from 'node:timers/promises'
import type { BlobRef, BlockOrigin } from '../../core/block/index.ts'
import { type CitationFormat, createCitationRewriter } from '../../core/citations/replace.ts'
import type { Attempt } from '../../core/compaction/overflow.ts'
import { createEarlyCheck } from '../../core/decision/early-check.ts'
import { decisionChannels } from '../../core/decision/response.ts'
import type { ServiceError } from '../../core/model-event.ts'
import { sourcesBySid } from '../../core/sources/pool.ts'
import { createLanes, type Lanes } from '../../core/stream/lanes.ts'
import type { RetriedAttempt } from '../../core/timeline/change.ts'
import { mimeOf } from '../../tools/mime.ts'
import type { TurnServices } from '../agent-context.ts'
import type { Activity } from '../conversation/inbox.ts'
import type { Ledger } from '../conversation/ledger.ts'
import type { ModelSettings } from '../settings.ts'
import { compactAfterOverflow } from '../turn/context-window.ts'
import type { Progress } from '../turn/progress.ts'
import { buildDecisionPrompt, type DecisionPrompt } from '../turn/prompt.ts'
import type { Turn } from '../turn/turn.ts'
import { type ModelResponse, readResponse } from './read-response.ts'
import { isOverflowError, retriedAttempt } from './response.ts'

/** A call of the decision model with its response, after retries. */
export interface ModelCall {
  readonly response: ModelResponse
  readonly prompt: DecisionPrompt
  /** The number of failed attempts before this one. */
  readonly attempt: number
  /** What the failed attempts cost. */
  readonly retried: readonly RetriedAttempt[]
  /** Whether a steer or the end of the turn aborted the call. */
  readonly interrupted: boolean
}

/** How many times a prompt is compacted after the provider has rejected it as too long. Each compaction is stronger. */
const maxOverflows = 3

/** The longest pause that a provider may ask for. If it asks for a longer one, the turn ends and tells the user. */
const maxRetryAfterSeconds = 60

/**
 * Sends the prompt and reads the response. It retries only while the user has seen nothing of the response. After a provider error it waits
 * before the retry. After a context overflow it compacts the timeline. Every other failure is in the response.
 */
export async function callModel(
  turn: Turn,
  progress: Progress,
  origin: BlockOrigin,
  model: ModelSettings,
  wrapUp?: true,
): Promise<ModelCall> {
  const { agent, conversation } = turn
  const activity = conversation.inbox.beginActivity()
  const { signal } = activity
  let retries = 0
  let overflows = 0
  let retried: readonly RetriedAttempt[] = []
  try {
    for (let attempt = 0; ; attempt++) {
      const prompt = buildDecisionPrompt(turn, progress, origin.ts, wrapUp)
      const response = await callOnce(turn, origin, prompt, model, { attempt, activity })
      // A violation aborts the activity, too, but is no interruption.
      const interrupted = signal.aborted && !response.violation
      const call = { response, prompt, attempt, retried, interrupted }
      const { error } = response
      if (interrupted || !error || response.showedAnything()) return call
      if (isOverflowError(error)) {
        overflows = await compactUntilSmaller(turn, overflows)
        if (overflows > maxOverflows && !signal.aborted) return call
      } else if (mayRetry(error) && retries < agent.settings.retryDelaysMs.length) {
        conversation.live.emit({ type: 'status', turn_id: origin.turnId, iteration: origin.iteration, status: 'retrying', error })
        await waitBeforeRetry(agent, retries++, error, signal)
      } else return call
      if (signal.aborted) return { ...call, interrupted: true }
      const cost = retriedAttempt(response, prompt)
      if (cost) retried = [...retried, cost]
    }
  } finally {
    activity.end()
  }
}

/** Compacts more and more strongly until the prompt gets smaller. Returns the attempt that succeeded, or `maxOverflows + 1`. */
async function compactUntilSmaller(turn: Turn, before: number): Promise<number> {
  for (let attempt = before + 1; attempt <= maxOverflows && !turn.conversation.inbox.hasSteer; attempt++) {
    if (await compactAfterOverflow(turn, attempt as Attempt)) return attempt
  }
  return maxOverflows + 1
}

function callOnce(
  { agent, conversation }: Turn,
  origin: BlockOrigin,
  prompt: DecisionPrompt,
  { maxTokens, temperature }: ModelSettings,
  { attempt, activity }: { readonly attempt: number; readonly activity: Activity },
): Promise<ModelResponse> {
  const { turnId: turn_id, iteration } = origin
  const { conversationId, live, ledger } = conversation
  live.emit({ type: 'status', turn_id, iteration, status: 'deciding' })
  const request = {
    role: 'decision' as const,
    system: agent.system.text,
    parts: prompt.parts,
    maxTokens,
    temperature,
    cacheKey: conversationId,
    read: ({ sha256 }: BlobRef) => agent.store.blobs.get(sha256),
  }
  return readResponse(() => agent.models.decision.stream(request, activity.signal), activity, {
    graceMs: agent.settings.stopGraceMs,
    channels: decisionChannels,
    createLanes: () => createResponseLanes(ledger, origin),
    earlyCheck: createEarlyCheck(),
    live,
    emit: (delta) => live.emit({ type: 'lane.delta', turn_id, iteration, attempt, delta }),
  })
}

function createResponseLanes(ledger: Ledger, { iteration, callId: executionId }: BlockOrigin): Lanes {
  const sources = () => sourcesBySid(ledger.timeline.sources)
  const replacer = (format: CitationFormat) => createCitationRewriter({ format, sources, stripUsage: true, keepUnresolved: false })
  return createLanes({ iteration, executionId, replacer, mimeOf })
}

const mayRetry = ({ retryable, retry_after_seconds = 0 }: ServiceError) => retryable && retry_after_seconds <= maxRetryAfterSeconds

/** Waits at least as long as the provider asked for. Returns early when the signal aborts. */
async function waitBeforeRetry({ settings, clock }: TurnServices, retry: number, error: ServiceError, signal: AbortSignal): Promise<void> {
  const pause = Math.max(settings.retryDelaysMs[retry] ?? 0, (error.retry_after_seconds ?? 0) * 1000)
  const jitter = (Number.parseInt(clock.randomHex(4), 16) / 0xffff) * 0.25 * pause
  await sleep(pause + jitter, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
}
