import type { PromptPart, PromptView } from '../core/api/prompt.ts'
import type { Estimator } from '../core/estimate/estimator.ts'
import { type CachePolicy, cachePoints } from '../core/render/cache-points.ts'
import type { Part } from '../core/render/part.ts'
import { applyChange } from '../core/timeline/apply.ts'
import type { ResponseReceived } from '../core/timeline/change.ts'
import { emptyTimeline, type Timeline } from '../core/timeline/timeline.ts'
import type { TokenCounter } from '../core/tokens.ts'
import type { ConversationStore } from '../ports/store.ts'
import { createView } from './view.ts'

export interface Round {
  readonly conversationId: string
  readonly turnId: string
  readonly iteration: number
}

export interface PromptSettings {
  /** As it is now. */
  readonly system: string
  readonly cache: CachePolicy
  readonly count: TokenCounter
}

/**
 * What the model read in a round, made again from the entries before its answer: nothing is entered between the two that it could have
 * seen. What stood at the very end is there when it was recorded; else the sources are, and the announce, which nobody keeps, is not.
 */
export async function recordedPrompt(
  store: Pick<ConversationStore, 'readJournal'>,
  { conversationId, turnId, iteration }: Round,
  settings: PromptSettings,
): Promise<PromptView | undefined> {
  let timeline = emptyTimeline()
  for await (const { change } of store.readJournal(conversationId, { after: 0 })) {
    const asked = change.type === 'response.received' && change.turn_id === turnId && change.iteration === iteration
    if (asked && change.role === undefined) return promptOf(timeline, change, settings)
    timeline = applyChange(timeline, change)
  }
  return undefined
}

function promptOf(timeline: Timeline, { turn_id, iteration, prompt, usage }: ResponseReceived, settings: PromptSettings): PromptView {
  const { renderer, estimator, sourcesTail } = createView(settings.count)
  const { parts } = renderer.render(timeline, {
    currentTurnId: turn_id,
    points: (slice) => prompt?.points ?? cachePoints(slice, settings.cache).marks,
    sources: prompt?.tail?.text ?? sourcesTail(timeline.sources, turn_id),
  })
  return {
    turn_id,
    iteration,
    model: prompt?.model ?? null,
    system: settings.system,
    parts: parts.map((part) => shown(part, estimator)),
    usage: usage ?? null,
  }
}

function shown(part: Part, estimator: Estimator): PromptPart {
  const marked = { marked: part.cache === true, tokens: Math.round(estimator.parts([part])) }
  if (part.type === 'text') return { type: 'text', text: part.text, ...marked }
  return { type: part.type, media_type: part.media_type, size_bytes: part.blob.size, ...marked }
}
