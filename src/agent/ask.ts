import { setTimeout as sleep } from 'node:timers/promises'
import type { Place } from '../core/block/index.ts'
import { createCitationRewriter } from '../core/citations/replace.ts'
import { type Attempt, isContextOverflow } from '../core/compaction/overflow.ts'
import { createWatch } from '../core/decision/watch.ts'
import type { ServiceError } from '../core/model-event.ts'
import { sourcesBySid } from '../core/sources/select.ts'
import type { Channel } from '../core/stream/channel.ts'
import { createLanes } from '../core/stream/lanes.ts'
import { mimeOf } from '../tools/mime.ts'
import { fitContext } from './compact.ts'
import { type Heard, listen } from './listen.ts'
import type { Progress } from './progress.ts'
import { type DecisionPrompt, decisionPrompt } from './prompt.ts'
import type { ModelSettings } from './settings.ts'
import type { Turn } from './turn.ts'

/** What a decision may be made of. */
export const decisionChannels: readonly Channel[] = [
  { name: 'thinking', format: 'markdown' },
  { name: 'action', aliases: ['ReactDecisionOutV2', 'decision'], format: 'json' },
  { name: 'code', format: 'text', raw: true },
  { name: 'answer', format: 'markdown' },
  { name: 'followup', format: 'json' },
  { name: 'usage', format: 'json' },
]

/** A question put to the model and everything it said. */
export interface Asked {
  readonly heard: Heard
  readonly prompt: DecisionPrompt
  /** A steer, or the end of the turn, cut it short. */
  readonly interrupted: boolean
}

const mostOverflows = 3 // as many as there are attempts to make room

/**
 * Shows the timeline to the model and listens. Tries again by itself where the user cannot have noticed: a provider that failed
 * before anything was shown, a prompt that turned out too long. Whatever else happens is in what was heard.
 */
export async function ask(turn: Turn, progress: Progress, place: Place, model: ModelSettings, wrapUp?: true): Promise<Asked> {
  let retries = 0
  let overflows = 0
  for (let attempt = 0; ; attempt++) {
    const prompt = decisionPrompt(turn, progress, wrapUp)
    const phase = turn.inbox.beginPhase(turn.signal)
    const asked = await askOnce(turn, place, prompt, model, { attempt, signal: phase.signal })
    phase.end()
    const { error, shown } = asked.heard
    if (asked.interrupted || !error || shown) return asked
    if (isOverflow(error) && overflows < mostOverflows) {
      overflows++
      if (!(await fitContext(turn, { force: true, attempt: overflows as Attempt }))) return asked
    } else if (error.retryable && retries < turn.settings.retryDelaysMs.length) {
      turn.emit({ type: 'status', turn_id: place.turnId, iteration: place.iteration, status: 'retrying', error })
      await backOff(turn, retries++)
      if (turn.signal.aborted) return { ...asked, interrupted: true }
    } else return asked
  }
}

async function askOnce(
  turn: Turn,
  place: Place,
  prompt: DecisionPrompt,
  { maxTokens, temperature }: ModelSettings,
  { attempt, signal }: { readonly attempt: number; readonly signal: AbortSignal },
): Promise<Asked> {
  const { turnId: turn_id, iteration } = place
  const sources = () => sourcesBySid(turn.ledger.timeline.sources)
  const lanes = createLanes({
    iteration,
    executionId: place.callId,
    replacer: (format) => createCitationRewriter({ format, sources, stripUsage: true, keepUnresolved: false }),
    mimeOf,
  })
  const watch = createWatch()
  const stop = new AbortController()
  const relay = () => stop.abort(signal.reason)
  if (signal.aborted) relay()
  else signal.addEventListener('abort', relay, { once: true })

  turn.emit({ type: 'status', turn_id, iteration, status: 'deciding' })
  const request = {
    role: 'decision' as const,
    system: turn.system,
    parts: prompt.parts,
    maxTokens,
    temperature,
    cacheKey: turn.conversationId,
  }
  const heard = await listen(turn.models.decision.stream(request, stop.signal), stop, {
    channels: decisionChannels,
    lanes,
    watch: (events, seen) => watch.step(events, seen) !== undefined,
    emit: (delta) => turn.emit({ type: 'lane.delta', turn_id, iteration, attempt, delta }),
  })
  signal.removeEventListener('abort', relay)
  return { heard, prompt, interrupted: signal.aborted }
}

const isOverflow = (error: ServiceError) => error.kind === 'context_overflow' || isContextOverflow(error.message, error.code)

async function backOff(turn: Turn, retry: number): Promise<void> {
  const pause = turn.settings.retryDelaysMs[retry] ?? 0
  const jitter = (Number.parseInt(turn.clock.randomHex(4), 16) / 0xffff) * 0.25 * pause
  await sleep(pause + jitter, undefined, { signal: turn.signal }).catch((error: unknown) => {
    if (!turn.signal.aborted) throw error
  })
}
