import type { Plan } from '../block/plan.ts'
import { type Caps, caps } from '../render/caps.ts'
import { clipped, oneLine } from '../render/text.ts'
import { type Budget, budgetSection, iterationTitle } from './budget.ts'
import { type AnnouncedFeedback, feedbackSection, type LiveEvent, liveEventsSection } from './events.ts'
import { plansSection } from './plans.ts'
import { type Workspace, workspaceSection } from './workspace.ts'

/** What is true this very round and must not be stored: the signal board at the end of every prompt. */
export interface Announce {
  readonly budget: Budget
  /** The newest snapshot of each plan; only open ones are announced. */
  readonly plans: readonly Plan[]
  readonly now?: { readonly utc: string; readonly timezone: string }
  readonly contextCaps?: readonly string[]
  readonly runtimeLimits?: readonly string[]
  readonly events?: readonly LiveEvent[]
  readonly workspace?: Workspace
  readonly feedbacks?: readonly AnnouncedFeedback[]
  readonly constraints?: readonly string[]
  /** Whatever else a host has to say, in its own words. */
  readonly extra?: readonly string[]
}

/** A section: a heading and its lines. Empty ones are left out, except the budget and the plans. */
export type Section = readonly [heading: string, ...lines: readonly string[]]

export function composeAnnounce(value: Announce, limits: Caps = caps): string {
  const sections: readonly (Section | undefined)[] = [
    budgetSection(value.budget),
    listSection('[CONTEXT CAPS]', value.contextCaps, limits),
    listSection('[RUNTIME LIMITS]', value.runtimeLimits, limits),
    value.now && timeSection(value.now, limits),
    plansSection(value.plans, limits),
    liveEventsSection(value.events ?? [], limits),
    value.workspace && workspaceSection(value.workspace, limits),
    feedbackSection(value.feedbacks ?? [], limits),
    listSection('[CONSTRAINTS]', value.constraints, limits),
  ]
  let text = box(iterationTitle(value.budget))
  for (const section of sections) {
    if (section === undefined) continue
    text += '\n'
    for (const line of section) text += `\n${line}`
  }
  for (const extra of value.extra?.slice(0, limits.announceExtras) ?? []) text += `\n\n${clipped(extra, limits.announceExtra)}`
  return text
}

const usualEdge = '═'.repeat(35)

function box(title: string): string {
  const width = Math.max(35, title.length + 2)
  const edge = width === 35 ? usualEdge : '═'.repeat(width)
  return `╔${edge}╗\n║${` ${title}`.padEnd(width)}║\n╚${edge}╝`
}

function listSection(heading: string, said: readonly string[] | undefined, limits: Caps): Section | undefined {
  if (said === undefined || said.length === 0) return undefined
  const more = said.length - limits.announceLines
  const shown = said.slice(0, limits.announceLines).map((line) => `  - ${oneLine(line, limits.announceLine)}`)
  return [heading, ...shown, ...(more > 0 ? [`  - … ${more} more`] : [])]
}

function timeSection({ utc, timezone }: { readonly utc: string; readonly timezone: string }, limits: Caps): Section {
  return [
    '[AUTHORITATIVE TEMPORAL CONTEXT (GROUND TRUTH)]',
    `  user_timezone: ${oneLine(timezone, limits.id)}`,
    `  current_utc_timestamp: ${oneLine(utc, limits.id)}`,
    `  current_utc_date: ${utc.slice(0, 10)}`,
  ]
}
