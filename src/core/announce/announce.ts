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
  type Section,
  workspaceSection,
} from './sections.ts'

/** Facts about the current round. They stand at the end of every prompt. They are never stored and never cached. */
export interface Announce {
  readonly budget: IterationBudget
  /** The open plans, sorted by the time of their last change. */
  readonly plans: readonly Plan[]
  readonly now?: { readonly utc: string; readonly timezone: string }
  readonly contextCaps?: readonly string[]
  readonly runtimeLimits?: readonly string[]
  readonly events?: readonly LiveEvent[]
  readonly workspace?: AnnouncedWorkspace | undefined
  readonly feedbacks?: readonly AnnouncedFeedback[]
  readonly constraints?: readonly string[] | undefined
  /** Further sections, which the host application writes. */
  readonly extra?: readonly string[]
}

/** Writes the announcement. Empty sections are left out, except the plans. */
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
  for (const section of extra?.slice(0, limits.announceExtras) ?? []) text += `\n\n${clip(section, limits.announceExtra)}`
  return text
}

function box(title: string): string {
  const width = Math.max(35, title.length + 2)
  const edge = '═'.repeat(width)
  return `╔${edge}╗\n║${` ${title}`.padEnd(width)}║\n╚${edge}╝`
}

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
