import type { Plan } from '../block/plan.ts'
import type { Reaction } from '../block/turn.ts'
import type { Estimator } from '../estimate/estimate.ts'
import { latestPlanPath } from '../path/build.ts'
import { stepMark } from '../render/blocks/plan.ts'
import { type Caps, caps } from '../render/caps.ts'
import { guardHeadings } from '../render/headings.ts'
import { clip, joinLines, oneLine } from '../render/text.ts'
import { type AnnouncedWorkspace, workspaceSection } from './workspace-section.ts'

/**
 * The content of the announce: what the model should know in this round. The announce is the last section of every prompt that asks for a
 * decision. It is never stored and never cached.
 */
export interface Announce {
  readonly budget: IterationBudget
  /** The open plans. The plan that changed last is at the end of the list. */
  readonly plans: readonly Plan[]
  readonly now?: { readonly utc: string; readonly timezone: string }
  readonly contextCaps?: readonly string[]
  readonly runtimeLimits?: readonly string[]
  readonly events?: readonly LiveEvent[]
  readonly workspace?: AnnouncedWorkspace | undefined
  readonly feedbacks?: readonly AnnouncedFeedback[]
  readonly constraints?: readonly string[] | undefined
  /** Instructions for this turn only, from the application. They are never cut. */
  readonly instructions?: string | undefined
  /** Requirements for the answer of this turn. They are never cut. */
  readonly output?: string | undefined
  /** Sentences that tell the model which tools of MCP servers have changed, and which MCP servers can not be used. */
  readonly tools?: readonly string[] | undefined
  /** Sections that the host application writes. They are shown after all other sections. */
  readonly extra?: readonly AnnounceSection[] | undefined
}

/** Writes the text of the announce. A section without content is left out. The section with the plans is always written. */
export function composeAnnounce(value: Announce, limits: Caps = caps): string {
  const { contextCaps, runtimeLimits, now, events, workspace, feedbacks, constraints, extra } = value
  let text = `${box(iterationTitle(value.budget))}\n\n${budgetSection(value.budget)}`
  if (contextCaps?.length) text += `\n\n${listSection('[CONTEXT CAPS]', contextCaps, limits)}`
  if (runtimeLimits?.length) text += `\n\n${listSection('[RUNTIME LIMITS]', runtimeLimits, limits)}`
  if (now) text += `\n\n${timeSection(now, limits)}`
  text += `\n\n${plansSection(value.plans, limits)}`
  if (events?.length) text += `\n\n${liveEventsSection(events, limits)}`
  if (workspace) text += `\n\n${workspaceSection(workspace, limits)}`
  if (feedbacks?.length) text += `\n\n${feedbackSection(feedbacks, limits)}`
  if (constraints?.length) text += `\n\n${listSection('[CONSTRAINTS]', constraints, limits)}`
  if (value.instructions !== undefined) text += `\n\n[INSTRUCTIONS FOR THIS TURN]\n${guardHeadings(indented(value.instructions))}`
  if (value.output !== undefined) text += `\n\n[OUTPUT]\n${guardHeadings(indented(value.output))}`
  if (value.tools?.length) text += `\n\n${listSection('[TOOLS OF SERVERS]', value.tools, limits)}`
  for (const section of extra?.slice(0, limits.announceExtras) ?? []) text += `\n\n${applicationSection(section, limits)}`
  return text
}

/** A section of the announce that the host application writes. */
export interface AnnounceSection {
  readonly title: string
  readonly text: string
}

/** Writes one section of the host application. Its text is cut after `limits.announceExtra` characters. */
function applicationSection({ title, text }: AnnounceSection, limits: Caps): Section {
  return `[APPLICATION: ${oneLine(title, limits.id).replace(/[[\]]/g, '')}]\n${clip(indented(text), limits.announceExtra)}`
}

/** The text with each line indented, so that no line can look like a heading such as `[BUDGET]`. */
const indented = (text: string): string => `  ${text.replaceAll('\n', '\n  ')}`

function box(title: string): string {
  const width = Math.max(shortestEdge.length, title.length + 2)
  const edge = shortestEdge.padEnd(width, '═')
  return `╔${edge}╗\n║${` ${title}`.padEnd(width)}║\n╚${edge}╝`
}

const shortestEdge = '═'.repeat(35)

function listSection(heading: string, items: readonly string[], limits: Caps): Section {
  const more = items.length - limits.announceLines
  const shown = items.slice(0, limits.announceLines).map((line) => `  - ${oneLine(line, limits.announceLine)}`)
  return joinLines(heading, ...shown, more > 0 ? `  - … ${more} more` : undefined)
}

function timeSection({ utc, timezone }: { readonly utc: string; readonly timezone: string }, limits: Caps): Section {
  return `[AUTHORITATIVE TEMPORAL CONTEXT (GROUND TRUTH)]
  user_timezone: ${oneLine(timezone, limits.id)}
  current_utc_timestamp: ${oneLine(utc, limits.id)}
  current_utc_date: ${utc.slice(0, 10)}`
}

/** The text of a section: a heading and the lines below it. */
export type Section = string

export interface IterationBudget {
  /** The number of the current round in its turn, from 0. */
  readonly iteration: number
  /** The greatest number of rounds that the turn may have. It includes the rounds in `bonus`. */
  readonly max: number
  /** The number of rounds that events such as followups added to the limit while the turn was running. */
  readonly bonus?: number
  readonly elapsedSeconds: number
  /** True in a wrap-up: the turn has to finish. */
  readonly wrapUp?: boolean | undefined
}

function iterationTitle(budget: IterationBudget): string {
  const { max, bonus = 0, wrapUp } = budget
  const granted = bonus > 0 ? ` (${max - bonus} + ${bonus} reactive bonus)` : ''
  return `ANNOUNCE — Iteration ${shownIteration(budget)}/${max}${granted}${wrapUp ? ' — wrap-up' : ''}`
}

function budgetSection(budget: IterationBudget): Section {
  const { max, bonus = 0, elapsedSeconds } = budget
  const current = shownIteration(budget)
  const granted = bonus > 0 ? `  (base ${max - bonus} + ${bonus} bonus from live reactive events)` : ''
  return `[BUDGET]
  iterations  ${bar(current, max)}  ${max - current} remaining${granted}
  time_elapsed_in_turn   ${duration(elapsedSeconds)}`
}

const shownIteration = ({ iteration, max }: IterationBudget) => Math.max(0, Math.min(iteration + 1, max))

/** A progress bar of ten characters. The share of filled characters is `used / max`. `used` must not be greater than `max`. */
function bar(used: number, max: number): string {
  const filled = max <= 0 ? 10 : Math.floor((10 * used) / max + 0.5)
  return '██████████░░░░░░░░░░'.slice(10 - filled, 20 - filled)
}

/** Formats seconds as `42s`, `3m07s` or `2h05m`. */
function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds))
  const padded = (n: number) => String(n).padStart(2, '0')
  if (whole < 60) return `${whole}s`
  if (whole < 3600) return `${Math.floor(whole / 60)}m${padded(whole % 60)}s`
  return `${Math.floor(whole / 3600)}h${padded(Math.floor((whole % 3600) / 60))}m`
}

/**
 * The section with the open plans. If there are more than `limits.openPlans`, it shows only the plans that changed last. It marks the
 * current plan, because the model can report only steps of the current plan as done.
 */
function plansSection(openPlans: readonly Plan[], limits: Caps): Section {
  const plans = openPlans.slice(-limits.openPlans)
  if (plans.length === 0) return '[OPEN PLANS]\n  - plans: none'
  const current = plans.findLast((plan) => plan.current === true)
  const shown = plans.flatMap((plan) => planLines(plan, plan === current, limits))
  return joinLines('[OPEN PLANS]', `  - plans: ${plans.length} visible`, ...shown)
}

function planLines(plan: Plan, current: boolean, limits: Caps): readonly string[] {
  const id = oneLine(plan.plan_id, limits.id)
  const fact = (name: string, value: string | undefined) => (value === undefined ? [] : [`      ${name}=${oneLine(value, limits.id)}`])
  const steps = plan.steps
    .slice(0, limits.planSteps)
    .map((step, index) => oneLine(`${stepMark(plan, index + 1)} [${index + 1}] ${step}`, limits.planStep))
  const more = plan.steps.length - steps.length
  return [
    `    • plan_id=${id}${current ? ' (current)' : ''}`,
    `      snapshot_ref=${latestPlanPath(id)}`,
    ...fact('created_turn', plan.origin_turn_id),
    ...fact('created_ts', plan.created_ts),
    ...fact('last_update_turn', plan.last_turn_id),
    ...fact('last_update_ts', plan.last_ts),
    ...steps.map((step) => `      ${step}`),
    ...(more > 0 ? [`      … ${more} more steps`] : []),
  ]
}

/** A followup, a steer or an event of `agent.notify` that arrived while the turn was running. */
export interface LiveEvent {
  readonly kind: string
  readonly ts: string
  readonly text: string
  readonly path?: string
}

const EVENT_CHARS = 120

function liveEventsSection(events: readonly LiveEvent[], limits: Caps): Section {
  const shown = events.slice(-limits.liveEvents).map(({ kind, ts, text, path }) => {
    const shownText = text.trim() === '' ? (kind === 'steer' ? '(empty stop control)' : '(empty)') : oneLine(text, EVENT_CHARS)
    const location = path === undefined ? '' : ` | ${oneLine(path, limits.id)}`
    return `  - ${oneLine(kind, 40)} | ts=${oneLine(ts, 40)}${location} | ${shownText}`
  })
  return joinLines('[LIVE TURN EVENTS]', ...shown)
}

export interface AnnouncedFeedback {
  readonly turnId: string
  readonly turnTs?: string
  readonly ts: string
  readonly origin: 'user' | 'machine'
  readonly reaction?: Reaction | undefined
  readonly text: string
  /**
   * True when the feedback is already in the timeline, as a block of the turn that it is about. Feedback gets its block once the provider's
   * cache has expired. Until then only the announce shows it.
   */
  readonly incorporated?: boolean
}

function feedbackSection(feedbacks: readonly AnnouncedFeedback[], limits: Caps): Section {
  const more = feedbacks.length - limits.feedbacks
  const shown = feedbacks.slice(-limits.feedbacks).map((feedback) => {
    const { turnId, turnTs, ts, reaction, text, incorporated } = feedback
    const facts = [
      `turn ${oneLine(turnId, 60)}`,
      ...(turnTs === undefined ? [] : [`turn_ts=${oneLine(turnTs, 40)}`]),
      `feedback_ts=${oneLine(ts, 40)}`,
      ...(reaction === undefined ? [] : [`reaction=${reaction}`]),
      `text=${oneLine(text, limits.announceLine - 220)}`,
    ]
    return `  - ${facts.join(' | ')}${incorporated ? '  (incorporated into turn timeline)' : ''}`
  })
  const heading = feedbacks.every(({ origin }) => origin === 'user') ? '[NEW USER FEEDBACKS]' : '[NEW FEEDBACKS]'
  return joinLines(heading, more > 0 ? `  - … ${more} older` : undefined, ...shown)
}

/**
 * Sets of limits for the sections. The first set gives the longest announce, the last set the shortest. The second set already shortens the
 * plans, the feedback and the sections of the application. Only the last set shortens the events.
 */
const levels: readonly Caps[] = [
  caps,
  { ...caps, planSteps: 20, planStep: 120, feedbacks: 6, announceExtra: 2_000 },
  { ...caps, openPlans: 2, planSteps: 12, planStep: 60, feedbacks: 3, workspaceScopes: 6, announceExtra: 800 },
  {
    ...caps,
    openPlans: 1,
    planSteps: 6,
    planStep: 40,
    feedbacks: 1,
    liveEvents: 1,
    turnRoots: 1,
    workspaceScopes: 2,
    announceLine: 260,
    announceLines: 4,
    announceExtra: 200,
  },
]

/**
 * Writes the announce with the first of `levels` that keeps it within `maxTokens`. If every announce is too long, the result is the
 * shortest one.
 */
export function fitAnnounce(value: Announce, maxTokens: number, estimator: Estimator): string {
  let text = ''
  for (const level of levels) {
    text = composeAnnounce(value, level)
    if (!estimator.reaches(text, maxTokens + 1)) return text
  }
  return text
}
