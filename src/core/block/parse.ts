import { Failure } from '../failure.ts'
import { isObject } from '../json.ts'
import { type Block, blockId } from './block.ts'

const optionalStrings = ['mime', 'path', 'text', 'base64', 'call_id', 'tool_id'] as const
// What our readers take for text without asking; everything else in a meta is asked, or passed on.
const metaStrings = ['tool_call_id', 'tool_id', 'digest', 'artifact_path', 'physical_path', 'replacement_text'] as const
const requiredStrings = ['id', 'type', 'author', 'turn_id', 'ts'] as const

/** The envelope of a stored or imported block, checked; its payload is its reader's business. Unknown fields stay. */
export function parseBlock(value: unknown): Block {
  if (!isObject(value)) throw invalid('a block must be an object', value)
  if (!isEnvelope(value)) throwFirstProblem(value)
  return value as unknown as Block // every field of the envelope was just checked
}

/** Asked of every block that is entered or read: each field by its name, and nothing is made. */
function isEnvelope({ id, type, author, turn_id, ts, mime, path, text, base64, call_id, tool_id, meta, blob }: Fields): boolean {
  if (typeof id !== 'string' || typeof type !== 'string' || typeof author !== 'string') return false
  if (typeof turn_id !== 'string' || typeof ts !== 'string') return false
  if (!isOptional(mime) || !isOptional(path) || !isOptional(text) || !isOptional(base64)) return false
  return isOptional(call_id) && isOptional(tool_id) && blob === undefined && (meta === undefined || isPlainMeta(meta))
}

/** One that our readers need not be warned of: what it says of itself is text, and it refers to nothing. */
function isPlainMeta(meta: unknown): boolean {
  if (!isObject(meta)) return false
  const { tool_call_id, tool_id, digest, artifact_path, physical_path, replacement_text, sources_used, keeps } = meta
  if (!isOptional(tool_call_id) || !isOptional(tool_id) || !isOptional(digest)) return false
  if (!isOptional(artifact_path) || !isOptional(physical_path) || !isOptional(replacement_text)) return false
  return sources_used === undefined && keeps === undefined
}

type Fields = { readonly [field: string]: unknown }

const isOptional = (value: unknown) => value === undefined || typeof value === 'string'

/** Looks at one field after the other, in the order in which they are told. */
function throwFirstProblem(value: Fields): void {
  for (const field of requiredStrings) if (typeof value[field] !== 'string') throw invalid(`block.${field} must be a string`, value)
  for (const field of optionalStrings) {
    if (value[field] !== undefined && typeof value[field] !== 'string') throw invalid(`block.${field} must be a string`, value)
  }
  if (value.meta !== undefined) checkMeta(value.meta, value)
  if (value.blob !== undefined && !isBlobRef(value.blob)) throw invalid('block.blob must be { sha256, size }', value)
}

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

const isSize = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0 // safe integers are numbers

function invalid(message: string, value: unknown): Failure {
  const id = isObject(value) && typeof value.id === 'string' ? value.id : undefined
  return new Failure('block.invalid', message, { details: id === undefined ? {} : { id } })
}

/** A block as a stranger may hand it in: only the type is certain. */
export type IncompleteBlock = Omit<Partial<Block>, 'id' | 'type' | 'ts'> & { readonly type: string; readonly ts?: string | number }

/** Fills what the entry lacks and numbers it. Every field that was there, known or not, stays. */
export function completeBlock(
  given: IncompleteBlock,
  entry: { readonly number: number; readonly turnId: string; readonly now: string },
): Block {
  const loose = moveHiddenIntoMeta(given)
  return {
    ...loose,
    id: blockId(entry.number),
    author: loose.author ?? 'agent',
    turn_id: loose.turn_id ?? entry.turnId,
    ts: isoTime(loose.ts) ?? entry.now,
  }
}

/** Older writers say at the top of a block that it is hidden; we say it in its meta, and there only. */
function moveHiddenIntoMeta(loose: IncompleteBlock & { readonly hidden?: unknown; readonly replacement_text?: unknown }): IncompleteBlock {
  if (loose.hidden !== true) return loose
  const { hidden, replacement_text: text, ...rest } = loose
  return { ...rest, meta: { ...rest.meta, hidden, ...(typeof text === 'string' && { replacement_text: text }) } }
}

const isoShape = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:?\d\d)?$/

/** ISO time with `Z`, from what readers must accept: ISO text, epoch seconds, epoch milliseconds (beyond 1e12). Without a zone it is UTC. */
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
