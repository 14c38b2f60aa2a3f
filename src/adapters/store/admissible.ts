import { blockNumber } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { isSid } from '../../core/sources/source.ts'
import { blocksIn, type Change, changeTime } from '../../core/timeline/change.ts'

/** What could be logged, and never sorted, found or numbered again: lists and retention compare times, selectors name 15 digits. */
export function checkAdmissible(change: Change): void {
  checkTime(changeTime(change))
  for (const { ts } of blocksIn(change)) checkTime(ts)
  const { turn_id: turnId } = change as { readonly turn_id?: string | null } // whichever change names one
  if (turnId?.isWellFormed() === false) throw refused('a turn needs a name of well-formed text')
  if (change.type === 'sources.merged') {
    if (change.next_sid > MAXIMUM_SID) throw refused('next_sid is beyond what a selector can name')
    if (!change.rows.every(({ sid }) => isSid(sid) && sid <= MAXIMUM_SID)) throw refused('a source needs a positive sid')
  }
}

// Every block passes here: an expression costs a tenth of parsing a date.
const time = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?Z$/

let lastGood: string | undefined // what is entered together mostly happened at the same time

export function isTime(ts: string): boolean {
  if (ts === lastGood) return true
  if (!time.test(ts)) return false
  lastGood = ts
  return true
}

/** As `blockId` writes them: no zeros in front. */
export const isBlockId = (id: string): boolean => blockNumber(id) !== undefined && (id.length === 3 || id[2] !== '0')

function checkTime(ts: string | undefined): void {
  if (ts !== undefined && !isTime(ts)) throw refused(`${JSON.stringify(ts)} is not a time such as 2026-01-01T00:00:00Z`)
}

const MAXIMUM_SID = 999_999_999_999_999

const refused = (message: string) => new Failure('change.invalid', message)
