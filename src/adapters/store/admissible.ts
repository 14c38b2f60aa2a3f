import { blockNumber } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { isSid } from '../../core/sources/source.ts'
import { blocksOfChange, type Change, changeTime } from '../../core/timeline/change.ts'

/** What could be logged, and never sorted, found or numbered again: lists and retention compare times, selectors name 15 digits. */
export function checkTimesAndNumbers(change: Change): void {
  checkTimestamp(changeTime(change))
  for (const { ts } of blocksOfChange(change)) checkTimestamp(ts)
  const { turn_id: turnId } = change as { readonly turn_id?: string | null } // whichever change names one
  if (turnId?.isWellFormed() === false) throw invalidChange('a turn needs a name of well-formed text')
  if (change.type === 'sources.merged') {
    if (change.next_sid > MAXIMUM_SID) throw invalidChange('next_sid is beyond what a selector can name')
    if (!change.rows.every(({ sid }) => isSid(sid) && sid <= MAXIMUM_SID)) throw invalidChange('a source needs a positive sid')
  }
}

// Every block passes here: an expression costs a tenth of parsing a date.
const timestampPattern = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?Z$/

let lastTimestamp: string | undefined // what is entered together mostly happened at the same time

export function isTimestamp(ts: string): boolean {
  if (ts === lastTimestamp) return true
  if (!timestampPattern.test(ts)) return false
  lastTimestamp = ts
  return true
}

/** As `blockId` writes them: no zeros in front. */
export const isBlockId = (id: string): boolean => blockNumber(id) !== undefined && (id.length === 3 || id[2] !== '0')

function checkTimestamp(ts: string | undefined): void {
  if (ts !== undefined && !isTimestamp(ts)) throw invalidChange(`${JSON.stringify(ts)} is not a time such as 2026-01-01T00:00:00Z`)
}

const MAXIMUM_SID = 999_999_999_999_999

const invalidChange = (message: string) => new Failure('change.invalid', message)
