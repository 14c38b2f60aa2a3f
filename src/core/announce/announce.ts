import type { Plan } from '../block/plan.ts'
import { type Caps, caps } from '../render/caps.ts'
import { clip, joinLines, oneLine } from '../render/text.ts'
import {
  type AnnouncedFeedback,
  type AnnouncedWorkspace,
  budgetSection,
  feedbackSection,
  type IterationBudget,
  iterationTitle,
  type LiveEvent,
  liveEventsSection,
  plansSection,
  workspaceSection,
} from './sections.ts'

/** What is true this very round and must not be stored: the signal board at the end of every prompt. */
export interface Announce {
  readonly budget: IterationBudget
  /** The newest snapshot of each plan; only open ones are announced. */
  readonly plans: readonly Plan[]
  readonly now?: { readonly utc: string; readonly timezone: string }
  readonly contextCaps?: readonly string[]
  readonly runtimeLimits?: readonly string[]
  readonly events?: readonly LiveEvent[]
  readonly workspace?: AnnouncedWorkspace | undefined
  readonly feedbacks?: readonly AnnouncedFeedback[]
  readonly constraints?: readonly string[] | undefined
  /** Whatever else a host has to say, in its own words. */
  readonly extra?: readonly string[]
}

/** A heading and its lines, in one text. Empty ones are left out, except the budget and the plans. */
export type Section = string

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
  for (const words of extra?.slice(0, limits.announceExtras) ?? []) text += `\n\n${clip(words, limits.announceExtra)}`
  return text
}

const usualEdge = '═'.repeat(35)

function box(title: string): string {
  const width = Math.max(35, title.length + 2)
  const edge = width === 35 ? usualEdge : '═'.repeat(width)
  return `╔${edge}╗\n║${` ${title}`.padEnd(width)}║\n╚${edge}╝`
}

function listSection(heading: string, said: readonly string[], limits: Caps): Section {
  const more = said.length - limits.announceLines
  const shown = said.slice(0, limits.announceLines).map((line) => `  - ${oneLine(line, limits.announceLine)}`)
  return joinLines(heading, ...shown, more > 0 ? `  - … ${more} more` : undefined)
}

function timeSection({ utc, timezone }: { readonly utc: string; readonly timezone: string }, limits: Caps): Section {
  return `[AUTHORITATIVE TEMPORAL CONTEXT (GROUND TRUTH)]
  user_timezone: ${oneLine(timezone, limits.id)}
  current_utc_timestamp: ${oneLine(utc, limits.id)}
  current_utc_date: ${utc.slice(0, 10)}`
}
