/** A date in ISO 8601 and UTC. Undefined for a text that is not a date, and for a date before 1980 or after 2099. */
export function isoDate(text: unknown): string | undefined {
  if (typeof text !== 'string' || text.length > 60 || !/\d{4}/.test(text)) return undefined
  return isoTime(Date.parse(inUtc(text.trim())))
}

/** A date without a time zone is read as UTC. Without this, `Date.parse` would read it in the time zone of this machine. */
function inUtc(text: string): string {
  if (/^\d{4}-\d{2}-\d{2}$/.test(text) || /(?:Z|GMT|UTC|[+-]\d{2}:?\d{2})$/i.test(text)) return text
  return /^\d{4}-\d{2}-\d{2}T/.test(text) ? `${text}Z` : `${text} UTC`
}

function isoTime(time: number): string | undefined {
  return time > Date.UTC(1980, 0) && time < Date.UTC(2100, 0) ? new Date(time).toISOString().replace('.000Z', 'Z') : undefined
}

const hourMs = 3_600_000
const unitMs: Readonly<Record<string, number>> = {
  minute: hourMs / 60,
  hour: hourMs,
  day: 24 * hourMs,
  week: 7 * 24 * hourMs,
  month: 30 * 24 * hourMs,
  year: 365 * 24 * hourMs,
}

/** Reads a date such as `3 days ago` or `Mar 5, 2026`. */
export function dateInWords(text: unknown, now: number): string | undefined {
  const [, count, unit = ''] = (typeof text === 'string' && /^(\d{1,3}) (minute|hour|day|week|month|year)s? ago$/i.exec(text.trim())) || []
  if (count === undefined) return isoDate(text)
  return isoTime(now - Number(count) * (unitMs[unit.toLowerCase()] ?? 0))
}

/** The time that is a day, a week, a month or a year before `now`. */
export const timeBefore = (now: number, unit: 'day' | 'week' | 'month' | 'year'): string =>
  new Date(now - (unitMs[unit] ?? 0)).toISOString()
