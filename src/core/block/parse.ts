import { Failure } from '../failure.ts'
import { isObject } from '../json.ts'
import { type Block, blockId } from './block.ts'

/**
 * Checks the fields that all blocks have, in a stored or imported block. The content of `text` is checked later, by the reader for the type
 * of the block. Unknown fields and unknown types are kept, so that an export returns them unchanged.
 */
export function parseBlock(value: unknown): Block {
  if (!isObject(value)) throw invalid('a block must be an object', value)
  for (const field of requiredStrings) {
    if (typeof value[field] !== 'string') throw invalid(`block.${field} must be a string`, value)
  }
  for (const field of optionalStrings) {
    if (value[field] !== undefined && typeof value[field] !== 'string') throw invalid(`block.${field} must be a string`, value)
  }
  if (value.meta !== undefined) checkMeta(value.meta, value)
  if (value.blob !== undefined && !isBlobRef(value.blob)) throw invalid('block.blob must be { sha256, size }', value)
  // All fields are checked, but `type` may be any string. The cast to `Block` tells the compiler that it is a `BlockType`. With this type,
  // the compiler finds misspelt block types in comparisons.
  return value as unknown as Block
}

const requiredStrings = ['id', 'type', 'author', 'turn_id', 'ts'] as const
const optionalStrings = ['mime', 'path', 'text', 'base64', 'call_id', 'tool_id'] as const

/**
 * The fields of `meta` that other code uses as strings without a check. Null is also allowed, because imported timelines may have null for
 * a missing value.
 */
const metaStrings = ['tool_call_id', 'tool_id', 'digest', 'artifact_path', 'physical_path', 'replacement_text'] as const

function checkMeta(meta: unknown, block: unknown): void {
  if (!isObject(meta)) throw invalid('block.meta must be an object', block)
  for (const field of metaStrings) {
    if (typeof (meta[field] ?? '') !== 'string') throw invalid(`block.meta.${field} must be a string`, block)
  }
  const sids = meta.sources_used ?? []
  const keeps = meta.keeps ?? []
  if (!Array.isArray(keeps) || !keeps.every(isBlobRef)) throw invalid('block.meta.keeps must be a list of { sha256, size }', block)
  if (!Array.isArray(sids) || !sids.every(Number.isFinite)) throw invalid('block.meta.sources_used must be a list of numbers', block)
}

function isBlobRef(value: unknown): boolean {
  return isObject(value) && typeof value.sha256 === 'string' && /^[0-9a-f]{64}$/.test(value.sha256) && isSize(value.size)
}

const isSize = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0 // `isSafeInteger` has checked that it is a number

function invalid(message: string, value: unknown): Failure {
  const id = isObject(value) && typeof value.id === 'string' ? value.id : undefined
  return new Failure('block.invalid', message, { details: id === undefined ? {} : { id } })
}

/** A block of an imported timeline. Only its type is required. */
export type IncompleteBlock = Omit<Partial<Block>, 'id' | 'type' | 'ts'> & { readonly type: string; readonly ts?: string | number }

/** A block with all required fields. `parseBlock` has not checked their values yet. */
type CompletedBlock = Omit<Block, 'type'> & { readonly type: string }

/** Gives an imported block an id and the required fields that it lacks. All its other fields stay, whether Daybook knows them or not. */
export function completeBlock(
  block: IncompleteBlock,
  defaults: { readonly number: number; readonly turnId: string; readonly now: string },
): CompletedBlock {
  const given = moveHiddenIntoMeta(block)
  return {
    ...given,
    id: blockId(defaults.number),
    author: given.author ?? 'agent',
    turn_id: given.turn_id ?? defaults.turnId,
    ts: isoTime(given.ts) ?? defaults.now,
  }
}

/**
 * Moves `hidden` and `replacement_text` of an imported block into `meta`. An imported block that another program wrote has them at its top
 * level.
 */
function moveHiddenIntoMeta(block: IncompleteBlock & { readonly hidden?: unknown; readonly replacement_text?: unknown }): IncompleteBlock {
  if (block.hidden !== true) return block
  const { hidden, replacement_text: text, ...rest } = block
  return { ...rest, meta: { ...rest.meta, hidden, ...(typeof text === 'string' && { replacement_text: text }) } }
}

const isoShape = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:?\d\d)?$/

/**
 * Converts a time to ISO text with `Z`. The value may be ISO text, epoch seconds, or epoch milliseconds. A number above 1e12 is read as
 * milliseconds. ISO text without a time zone is read as UTC. Undefined when the value is not a time.
 */
export function isoTime(value: string | number | undefined): string | undefined {
  if (typeof value === 'string') return isoTimeFromText(value)
  if (typeof value !== 'number') return undefined
  const date = new Date(value > 1e12 ? value : value * 1000)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}

function isoTimeFromText(value: string): string | undefined {
  const [, day, time, zone = 'Z'] = isoShape.exec(value) ?? []
  const text = `${day}T${time}${zone}`
  if (day === undefined || Number.isNaN(Date.parse(text))) return undefined
  return zone === 'Z' ? text : new Date(text).toISOString()
}
