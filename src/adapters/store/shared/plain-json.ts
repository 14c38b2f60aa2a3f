import { blockNumber } from '../../../core/block/index.ts'
import { Failure } from '../../../core/failure.ts'
import { isSid } from '../../../core/sources/source.ts'
import { blocksOfChange, type Change, changeTime } from '../../../core/timeline/change.ts'

/** Levels of lists and objects. No change that is meant goes a tenth as deep, and whoever reads JSON gives up at some depth, each at another. */
const maxDepth = 500

/**
 * The value as JSON would give it back: the same object when it is plain already, which is nearly always. So what an append returns
 * is what a later load returns, and a store in memory behaves like one on disk.
 */
export function plainJson(value: unknown): unknown {
  try {
    if (isPlain(value)) return value
    const copy: unknown = JSON.parse(JSON.stringify(value) ?? 'null')
    if (isPlain(copy)) return copy
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error
    throw new Failure('change.invalid', `a change must be something that JSON can hold: ${error.message}`, { cause: error })
  }
  throw new Failure('change.invalid', `a change must be something that JSON can hold: at most ${maxDepth} levels`)
}

export function isPlain(value: unknown, level = 0): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true
    case 'number':
      return isPlainNumber(value)
    case 'object':
      if (value === null) return true
      if (level === maxDepth) return false
      return Array.isArray(value) ? isPlainList(value, level + 1) : isPlainObject(value) && hasPlainFields(value, level + 1)
    default:
      return false
  }
}

function hasPlainFields(object: { readonly [key: string]: unknown }, level: number): boolean {
  for (const key in object) if (!isPlain(object[key], level)) return false
  return true
}

function isPlainList(list: readonly unknown[], level: number): boolean {
  for (let n = 0; n < list.length; n++) if (!isPlain(list[n], level)) return false // holes too: they are undefined
  return true
}

/** One that was written down as `{…}`, or might have been. */
export const isPlainObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype

/** One that JSON can write, and that comes back as it was. */
export const isPlainNumber = (value: unknown): boolean => Number.isFinite(value) && !Object.is(value, -0)

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
