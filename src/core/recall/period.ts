/** A period of time in seconds since 1970. `to` is exclusive. */
export interface Period {
  readonly from: number
  readonly to: number
}

const DAY = 24 * 3_600
const months = 'january february march april may june july august september october november december'.split(' ')
const units: Readonly<Record<string, number>> = { day: 1, week: 7, month: 30, year: 365 }
const counts = 'zero one two three four five six seven eight nine ten eleven twelve'.split(' ')

/**
 * The period that a question names, such as `in May 2023`, `on 7 June`, `yesterday`, `last week` or `three days ago`. A month without a
 * year is the last such month before `now`. `words` are the words of the question in lower case, and `now` is in seconds since 1970.
 */
export function periodOf(words: readonly string[], now: number): Period | undefined {
  for (const [at, word] of words.entries()) {
    const found = monthAt(words, at, now) ?? relativeAt(words, at, now) ?? (isYear(word) ? yearOf(Number(word)) : undefined)
    if (found) return found
  }
  return undefined
}

const isYear = (word: string | undefined): boolean => word?.length === 4 && Number(word) > 1970 && Number(word) < 2100

/** The day of a month, as in `7`, `7th` or `07`. */
function dayOf(word: string | undefined): number | undefined {
  const day = Number.parseInt(word ?? '', 10)
  return (word?.length ?? 9) <= 4 && day >= 1 && day <= 31 ? day : undefined
}

function monthAt(words: readonly string[], at: number, now: number): Period | undefined {
  const month = monthOf(words, at)
  if (month < 0) return undefined
  const after = dayOf(words[at + 1])
  const day = after ?? dayOf(words[at - 1])
  const named = [words[at + 1], words[at + 2]].find(isYear)
  // `may` and `march` are often other words, so they are read as months only beside a number or after a word such as `in`
  if (
    ['may', 'march'].includes(words[at] ?? '') &&
    day === undefined &&
    named === undefined &&
    !'in on during last of since'.split(' ').includes(words[at - 1] ?? '')
  )
    return undefined
  const year = named === undefined ? lastYearWith(month, now) : Number(named)
  if (day !== undefined) return { from: secondsOf(year, month, day), to: secondsOf(year, month, day + 1) }
  return { from: secondsOf(year, month, 1), to: secondsOf(year, month + 1, 1) }
}

function monthOf(words: readonly string[], at: number): number {
  const word = words[at] ?? ''
  return months.findIndex(
    (month) =>
      month === word || (word.length === 3 && word !== 'mar' && month.startsWith(word)) || (word === 'sept' && month === 'september'),
  )
}

const secondsOf = (year: number, month: number, day: number): number => Date.UTC(year, month, day) / 1_000

function lastYearWith(month: number, now: number): number {
  const year = new Date(now * 1_000).getUTCFullYear()
  return secondsOf(year, month, 1) <= now ? year : year - 1
}

const yearOf = (year: number): Period => ({ from: secondsOf(year, 0, 1), to: secondsOf(year + 1, 0, 1) })

function relativeAt(words: readonly string[], at: number, now: number): Period | undefined {
  const today = now - (now % DAY)
  const [word = '', next = ''] = [words[at], words[at + 1]]
  if (word === 'yesterday') return { from: today - DAY, to: today }
  if (word === 'last' && next in units) return { from: today - 2 * (units[next] as number) * DAY, to: now }
  const unit = units[next.endsWith('s') ? next.slice(0, -1) : next]
  if (words[at + 2] !== 'ago' || unit === undefined) return undefined
  const count = word === 'a' || word === 'an' ? 1 : Math.max(counts.indexOf(word), Number.parseInt(word, 10) || 0)
  if (count < 1) return undefined
  const middle = today - count * unit * DAY
  return { from: middle - (unit * DAY) / 2 - DAY, to: middle + (unit * DAY) / 2 + DAY }
}
