import { type Announce, fitAnnounce } from '../../core/announce/announce.ts'
import { maxRoundsOf, usableExtraRounds } from '../../core/budget.ts'
import { calibrationOf, contextLimit, LINE_BREAK_TOKENS, tokenUpperBound } from '../../core/estimate/estimate.ts'
import { openPlans } from '../../core/plan/plans.ts'
import { cachePoints } from '../../core/render/cache-points.ts'
import type { Prompt } from '../../core/render/render.ts'
import type { SourcesTail } from '../../core/render/sources-tail.ts'
import type { Part, Slice } from '../../core/render/types.ts'
import type { ReachedLimit, StoredTurnOptions } from '../../core/timeline/change.ts'
import type { PromptRecord } from '../../core/timeline/response-record.ts'
import type { Timeline } from '../../core/timeline/timeline.ts'
import type { TurnServices } from '../agent-context.ts'
import type { Renderers } from '../conversation/renderers.ts'
import type { Toolbox } from '../tools.ts'
import type { Progress } from './progress.ts'
import type { Turn } from './turn.ts'

/** The prompt of one decision. */
export interface DecisionPrompt {
  readonly parts: readonly Part[]
  /** The data about the prompt that is journaled with the response, such as its cache points and hashes. */
  readonly record: PromptRecord
  /** The number of tokens of the prompt and the system text. Undefined when it is not known without counting. */
  readonly tokens: number | undefined
  /** The number of tokens of the prompt and the system text. Counts them if the number is not known. */
  countTokens(): number
}

/**
 * Builds the prompt: the timeline with its cache points, then the tail, which is the source pool and the announce. The tail changes in
 * every round.
 */
export function buildDecisionPrompt(turn: Turn, progress: Progress, now: string, wrapUp?: ReachedLimit): DecisionPrompt {
  const { turnId, agent, conversation } = turn
  const { timeline } = conversation.ledger
  const { renderer, meter } = conversation.renderers
  const tails = promptTails(turn, progress, now, wrapUp)
  const sources = tails.sources.text
  const { announce } = tails
  const points = (slice: Slice) => cachePoints(slice, agent.settings.cache, progress).marks
  const prompt = renderer.render(timeline, { currentTurnId: turnId, points, sources, announce })
  const otherTokens = () => agent.speech.system.tokens() + tails.tokens()
  const known = meter.known(timeline, renderer.peek(timeline, turnId))
  return {
    parts: prompt.parts,
    record: promptRecord(agent, conversation.renderers, prompt, timeline, `${sources}${announce}`),
    tokens: known === undefined ? undefined : known + otherTokens(),
    countTokens: () => meter.tokens(timeline, renderer.slice(timeline, turnId)) + otherTokens(),
  }
}

/** The two texts of the tail, after the timeline: the source pool and the announce. */
export interface Tails {
  readonly sources: SourcesTail
  readonly announce: string
  /** The number of tokens of both texts. The tokens are counted at the first call. */
  tokens(): number
  /** A number of tokens that both texts together do not exceed. It is known without counting. */
  readonly tokenUpperBound: number
}

/**
 * The source pool and the announce may each have at most this share of the tokens that the system text leaves. The other tokens are for the
 * timeline.
 */
const TAIL_SHARE = 0.2

/** The tail of the prompt. It is made once per prompt: the check whether the prompt fits and the prompt itself use the same object. */
export function promptTails(turn: Turn, progress: Progress, now: string, wrapUp?: ReachedLimit): Tails {
  const { turnId, agent, conversation } = turn
  const { timeline } = conversation.ledger
  const last = lastTails.get(conversation.renderers)
  if (last?.progress === progress && last.timeline === timeline && last.now === now && last.wrapUp === wrapUp) return last.tails
  const { estimator, noSources, sourcesTail } = conversation.renderers
  const limit = contextLimit(agent.settings, agent.models.decision.window)
  const maxTokens = Math.floor(TAIL_SHARE * (limit / calibrationOf(timeline) - agent.speech.system.tokens()))
  const sources = timeline.sources.rows.length === 0 ? noSources : sourcesTail(timeline.sources, turnId, maxTokens)
  const facts = announceFacts(agent, progress, timeline, now, wrapUp)
  const announce = fitAnnounce(facts, maxTokens, estimator)
  let tokens: number | undefined
  const tails: Tails = {
    sources,
    announce,
    tokens: () => (tokens ??= sources.tokens() + estimator.text(announce) + 2 * LINE_BREAK_TOKENS),
    tokenUpperBound: tokenUpperBound(sources.text) + tokenUpperBound(announce) + 2 * LINE_BREAK_TOKENS,
  }
  lastTails.set(conversation.renderers, { progress, timeline, now, wrapUp, tails })
  return tails
}

/** The last tail of a conversation, and the values from which it was made. */
interface LastTails {
  readonly progress: Progress
  readonly timeline: Timeline
  readonly now: string
  readonly wrapUp: ReachedLimit | undefined
  readonly tails: Tails
}

const lastTails = new WeakMap<Renderers, LastTails>()

function promptRecord(
  { models, speech, settings }: TurnServices,
  { fingerprints, renderer }: Renderers,
  { marks, points, segments }: Prompt,
  timeline: Timeline,
  tail: string,
): PromptRecord {
  const texts = settings.recordPrompts
  return {
    model: models.decision.name,
    marks,
    points,
    segments,
    system: speech.system.fingerprint,
    tail: texts ? { size: tail.length, text: tail } : { size: tail.length },
    shown: fingerprints.record(renderer.fingerprints(timeline), timeline.lastResponse?.prompt?.shown, { texts }),
    cache_ttl_seconds: settings.expiry.ttlSeconds,
  }
}

function announceFacts(
  { settings, toolbox, options, output, speech, remarks }: TurnServices,
  progress: Progress,
  timeline: Timeline,
  utc: string,
  wrapUp?: ReachedLimit,
): Announce {
  const { budget, iteration, feedbacks, events, workspace, sections } = progress
  return {
    budget: {
      iteration,
      max: maxRoundsOf(budget),
      bonus: usableExtraRounds(budget),
      elapsedSeconds: (millisecondsOf(utc) - budget.startedAt) / 1000,
      wrapUp: wrapUp !== undefined,
    },
    plans: openPlans(timeline),
    now: { utc, timezone: settings.timezone },
    feedbacks,
    events,
    workspace,
    constraints: constraintsOf(progress, toolbox, options, wrapUp),
    instructions: options?.instructions,
    output: output?.announced(speech.dialect),
    tools: remarks?.(),
    extra: sections,
  }
}

function constraintsOf(
  progress: Progress,
  { has, offers = has }: Toolbox,
  options: StoredTurnOptions | undefined,
  wrapUp: ReachedLimit | undefined,
): readonly string[] | undefined {
  if (wrapUp) return ['This is the last call of the turn: no tools. Answer now with what you have, and say what is left.']
  const offered = options?.tools && offeredTools(options.tools)
  if (!progress.wrapUp) return offered
  const { rounds, tools } = progress.wrapUp
  const left = rounds === 1 ? '1 round' : `${rounds} rounds`
  const allowed = tools.filter((id) => has(id) && offers(id))
  return [
    ...(offered ?? []),
    `The user asked you to wrap up: ${left} left, ${allowed.length === 0 ? 'without tools' : `only ${allowed.join(', ')}`}; then answer.`,
  ]
}

/** A long list takes several lines, because a line of the announce is cut at its limit. */
function offeredTools(ids: readonly string[]): readonly string[] {
  if (ids.length === 0) return ['No tool can be called in this turn.']
  const [first = [], ...more] = Array.from({ length: Math.ceil(ids.length / TOOLS_PER_LINE) }, (_, line) =>
    ids.slice(line * TOOLS_PER_LINE, (line + 1) * TOOLS_PER_LINE),
  )
  return [`Only these tools can be called in this turn: ${first.join(', ')}`, ...more.map((line) => `and ${line.join(', ')}`)]
}

const TOOLS_PER_LINE = 8

let lastTime = { text: '', milliseconds: Number.NaN }

/**
 * Parses a time like `Date.parse`. The last result is kept, because consecutive calls often have the same text and parsing takes 0.3 µs.
 */
function millisecondsOf(text: string): number {
  if (text !== lastTime.text) lastTime = { text, milliseconds: Date.parse(text) }
  return lastTime.milliseconds
}
