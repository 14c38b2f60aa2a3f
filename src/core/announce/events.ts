import type { Reaction } from '../block/turn.ts'
import type { Caps } from '../render/caps.ts'
import { joinLines, oneLine } from '../render/text.ts'
import type { Section } from './announce.ts'

/** Something that reached the turn while it was running. */
export interface LiveEvent {
  readonly kind: string
  readonly ts: string
  readonly text: string
  readonly path?: string
}

const eventText = 120

/** The last few, oldest first. */
export function liveEventsSection(events: readonly LiveEvent[], limits: Caps): Section {
  const shown = events.slice(-limits.liveEvents).map(({ kind, ts, text, path }) => {
    const words = text.trim() === '' ? (kind === 'steer' ? '(empty stop control)' : '(empty)') : oneLine(text, eventText)
    const where = path === undefined ? '' : ` | ${oneLine(path, limits.id)}`
    return `  - ${oneLine(kind, 40)} | ts=${oneLine(ts, 40)}${where} | ${words}`
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
  /** It already stands in its turn: the cache was cold, so it could be put there. */
  readonly incorporated?: boolean
}

export function feedbackSection(feedbacks: readonly AnnouncedFeedback[], limits: Caps): Section {
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
