import { type Announce, fitAnnounce } from '../../core/announce/announce.ts'
import { maxRoundsOf, usableExtraRounds } from '../../core/budget.ts'
import { calibrationOf, contextLimit, LINE_BREAK_TOKENS, tokenUpperBound } from '../../core/estimate/estimate.ts'
import { openPlans } from '../../core/plan/plans.ts'
import { cachePoints } from '../../core/render/cache-points.ts'
import type { Prompt } from '../../core/render/render.ts'
import type { SourcesTail } from '../../core/render/sources-tail.ts'
import type { Part, Slice } from '../../core/render/types.ts'
import type { PromptRecord, ReachedLimit } from '../../core/timeline/change.ts'
import type { Timeline } from '../../core/timeline/timeline.ts'
import type { TurnServices } from '../agent-context.ts'
import type { Renderers } from '../conversation/renderers.ts'
import type { Toolbox } from '../tools.ts'
import type { Progress } from './round.ts'
import type { Turn } from './turn.ts'

/** The prompt of one decision. */
export interface DecisionPrompt {
  readonly parts: readonly Part[]
  /** Facts about the prompt that are journaled with the response. */
  readonly record: PromptRecord
  /** The tokens of the prompt and the system text. Undefined when they would have to be counted. */
  readonly tokens: number | undefined
  /** The tokens of the prompt and the system text. Counts them if necessary. */
  countTokens(): number
}

/** Builds the prompt: the timeline with its cache points, then the sources and ANNOUNCE. These last two change in every round. */
export function buildDecisionPrompt(turn: Turn, progress: Progress, now: string, wrapUp?: ReachedLimit): DecisionPrompt {
  const { turnId, agent, conversation } = turn
  const { timeline } = conversation.ledger
  const { renderer, meter } = conversation.renderers
  const tails = promptTails(turn, progress, now, wrapUp)
  const sources = tails.sources.text
  const { announce } = tails
  const points = (slice: Slice) => cachePoints(slice, agent.settings.cache, progress).marks
  const prompt = renderer.render(timeline, { currentTurnId: turnId, points, sources, announce })
  const otherTokens = () => agent.system.tokens() + tails.tokens()
  const known = meter.known(timeline, renderer.peek(timeline, turnId))
  return {
    parts: prompt.parts,
    record: promptRecord(agent, conversation.renderers, prompt, timeline, `${sources}${announce}`),
    tokens: known === undefined ? undefined : known + otherTokens(),
    countTokens: () => meter.tokens(timeline, renderer.slice(timeline, turnId)) + otherTokens(),
  }
}

/** The texts after the timeline: the sources, and ANNOUNCE. */
export interface Tails {
  readonly sources: SourcesTail
  readonly announce: string
  /** The tokens of both. Counted at the first call. */
  tokens(): number
  /** At least as many tokens as both have, without counting. */
  readonly tokenUpperBound: number
}

/** Each tail takes at most this share of the tokens beside the system text, so that there is room for the timeline. */
const TAIL_SHARE = 0.2

/** The texts after the timeline. They are kept until the next prompt, because they are needed to see whether it fits, too. */
export function promptTails(turn: Turn, progress: Progress, now: string, wrapUp?: ReachedLimit): Tails {
  const { turnId, agent, conversation } = turn
  const { timeline } = conversation.ledger
  const last = lastTails.get(conversation.renderers)
  if (last?.progress === progress && last.timeline === timeline && last.now === now && last.wrapUp === wrapUp) return last.tails
  const { estimator, noSources, sourcesTail } = conversation.renderers
  const limit = contextLimit(agent.settings, agent.models.decision.window)
  const maxTokens = Math.floor(TAIL_SHARE * (limit / calibrationOf(timeline) - agent.system.tokens()))
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

/** The last tails of each conversation, with the values that they were made from. */
interface LastTails {
  readonly progress: Progress
  readonly timeline: Timeline
  readonly now: string
  readonly wrapUp: ReachedLimit | undefined
  readonly tails: Tails
}

const lastTails = new WeakMap<Renderers, LastTails>()

function promptRecord(
  { models, system, settings }: TurnServices,
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
    system: system.fingerprint,
    tail: texts ? { size: tail.length, text: tail } : { size: tail.length },
    shown: fingerprints.record(renderer.fingerprints(timeline), timeline.lastResponse?.prompt?.shown, { texts }),
    cache_ttl_seconds: settings.expiry.ttlSeconds,
  }
}

function announceFacts(
  { settings, toolbox }: TurnServices,
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
    constraints: constraintsOf(progress, toolbox, wrapUp),
    extra: sections,
  }
}

function constraintsOf(progress: Progress, { has }: Toolbox, wrapUp: ReachedLimit | undefined): readonly string[] | undefined {
  if (wrapUp) return ['This is the last call of the turn: no tools. Answer now with what you have, and say what is left.']
  if (!progress.wrapUp) return undefined
  const { rounds, tools } = progress.wrapUp
  const left = rounds === 1 ? '1 round' : `${rounds} rounds`
  const allowed = tools.filter(has)
  return [
    `The user asked you to wrap up: ${left} left, ${allowed.length === 0 ? 'without tools' : `only ${allowed.join(', ')}`}; then answer.`,
  ]
}

let lastTime = { text: '', milliseconds: Number.NaN }

/** Like `Date.parse`. The last time is kept, because rounds in the same millisecond have the same text and parsing it takes 0.3 µs. */
function millisecondsOf(text: string): number {
  if (text !== lastTime.text) lastTime = { text, milliseconds: Date.parse(text) }
  return lastTime.milliseconds
}
