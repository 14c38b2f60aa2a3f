import { type Block, blockNumber, isHidden } from '../../../core/block/index.ts'
import { Failure } from '../../../core/failure.ts'
import { isSid } from '../../../core/sources/source.ts'
import { blocksOfChange, type Change, changeTime } from '../../../core/timeline/change.ts'
import { stripHidden } from '../../../core/timeline/frame.ts'
import { parseChange } from '../../../core/timeline/parse-change.ts'
import { parsePayload } from '../../../core/timeline/payload.ts'
import { withBlocks } from './block-bytes.ts'

/**
 * Returns the change as the store logs it, or throws `change.invalid` or `block.invalid`; nothing was written then. Stores call
 * `validateChangesFast`, which skips these rules where they would return the change unchanged. Whether the block ids are new is
 * checked by `block-ids.ts`.
 */
export function validateChange(given: Change): Change {
  const change = parseGiven(given)
  checkTimesAndNumbers(change)
  for (const block of blocksOfChange(change)) checkBlock(block)
  return stripStaleHidingFields(change)
}

function parseGiven(given: Change): Change {
  const change = parseChange(plainJson(given))
  return change.type === 'timeline.imported' ? { ...change, timeline: parsePayload(change.timeline) } : change
}

/** Lists and retention compare times as text, and a source selector has at most 15 digits: other values could be logged but not found. */
function checkTimesAndNumbers(change: Change): void {
  checkTimestamp(changeTime(change))
  for (const { ts } of blocksOfChange(change)) checkTimestamp(ts)
  const { turn_id: turnId } = change as { readonly turn_id?: string | null } // the field has one meaning in every change that has it
  if (turnId?.isWellFormed() === false) throw invalidChange('a turn needs a name of well-formed text')
  if (change.type === 'sources.merged') {
    if (change.next_sid > MAX_SID) throw invalidChange('next_sid is beyond what a selector can name')
    if (!change.rows.every(({ sid }) => isSid(sid) && sid <= MAX_SID)) throw invalidChange('a source needs a positive sid')
  }
}

const MAX_SID = 999_999_999_999_999

function checkTimestamp(ts: string | undefined): void {
  if (ts !== undefined && !isTimestamp(ts)) throw invalidChange(`${JSON.stringify(ts)} is not a time such as 2026-01-01T00:00:00Z`)
}

// A pattern instead of a date parser: it runs for every block and is ten times faster.
const timestampPattern = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?Z$/

let latestTimestamp = '' // the blocks of one append mostly have the same time

export function isTimestamp(ts: string): boolean {
  if (ts === latestTimestamp) return true
  if (!timestampPattern.test(ts)) return false
  latestTimestamp = ts
  return true
}

function checkBlock({ id, base64 }: Block): void {
  if (!isBlockId(id)) throw invalidChange(`block id ${JSON.stringify(id)} is not b_<n>: number new blocks with \`assignIds\``)
  if (base64 !== undefined && Buffer.from(base64, 'base64').toString('base64') !== base64) {
    throw new Failure('block.invalid', `block ${id} holds text in base64 that is not base64`, { details: { id } })
  }
}

/** True for ids in the spelling of `blockId`: no leading zeros. */
export const isBlockId = (id: string): boolean => blockNumber(id) !== undefined && (id.length === 3 || id[2] !== '0')

/** Removes hiding fields from blocks that are not hidden, so that revealing a block gives back exactly what was entered. */
function stripStaleHidingFields(change: Change): Change {
  const blocks = blocksOfChange(change)
  const isStale = (block: Block) => !isHidden(block) && stripHidden(block) !== block
  if (!blocks.some(isStale)) return change
  return withBlocks(
    change,
    blocks.map((block) => (isHidden(block) ? block : stripHidden(block))),
  )
}

/** How deep lists and objects may be nested. Real changes are less than 50 deep; JSON parsers fail beyond limits of their own. */
const maxDepth = 500

/**
 * The value as JSON would return it: the same object when it is plain already, which is nearly always. So an append returns the same
 * values as a later load, and the memory store behaves like one on disk.
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
  throw invalidChange(`a change must be something that JSON can hold: at most ${maxDepth} levels`)
}

function isPlain(value: unknown, depth = 0): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true
    case 'number':
      return isPlainNumber(value)
    case 'object':
      if (value === null) return true
      if (depth === maxDepth) return false
      return Array.isArray(value) ? isPlainList(value, depth + 1) : isPlainObject(value) && hasPlainFields(value, depth + 1)
    default:
      return false
  }
}

function hasPlainFields(object: { readonly [key: string]: unknown }, depth: number): boolean {
  for (const key in object) if (!isPlain(object[key], depth)) return false
  return true
}

function isPlainList(list: readonly unknown[], depth: number): boolean {
  for (let n = 0; n < list.length; n++) if (!isPlain(list[n], depth)) return false // also rejects holes, which read as undefined
  return true
}

/** True for object literals: no class, no null prototype. */
export const isPlainObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype

/** True for numbers that JSON returns as they were. */
export const isPlainNumber = (value: unknown): boolean => Number.isFinite(value) && !Object.is(value, -0)

const invalidChange = (message: string) => new Failure('change.invalid', message)
