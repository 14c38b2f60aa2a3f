import { type Block, dropEmptyMeta } from '../../core/block/block.ts'
import { ellipsize } from '../../core/cut.ts'
import { shortHash } from '../../core/hash.ts'
import { isObject } from '../../core/json.ts'
import { type Fingerprints, shownCount } from '../../core/render/runs.ts'
import type { Slice } from '../../core/render/types.ts'
import { blocksOfChange, type Change, type ResponseReceived } from '../../core/timeline/change.ts'
import type { PromptRecord } from '../../core/timeline/response-record.ts'
import type { Entry } from '../../ports/store.ts'
import { blockName, type Divergence, describeChange, firstTextDifference, type PromptDivergence } from './divergence.ts'
import { type RecordedPrompt, withShownBlocks } from './recording.ts'

/**
 * Compares a change with the recorded change. Times, token usage, and the call ids of titles and summaries are not compared, because a
 * replay takes them from the recording. `comparePrompt` compares the prompts.
 */
export function compareChange(present: Change | undefined, { seq, change: recorded }: Entry): Divergence | undefined {
  if (present?.type !== recorded.type)
    return { kind: 'decision', seq, recorded: describeChange(recorded), present: describeChange(present) }
  const blocks = compareBlocks(blocksOfChange(present), blocksOfChange(recorded), seq)
  if (blocks) return blocks
  const field = firstDifference(comparable(present), comparable(recorded))
  if (field === undefined) return undefined
  const [now, then] = [valueAt(comparable(present), field), valueAt(comparable(recorded), field)]
  return { kind: 'decision', seq, recorded: `${recorded.type} with ${field} = ${preview(then)}`, present: `${field} = ${preview(now)}` }
}

function comparable(change: Change): unknown {
  switch (change.type) {
    case 'response.received':
      return comparableResponse(change)
    case 'turn.closed': {
      const { ts: _ts, tokens: _tokens, ...rest } = change
      return rest
    }
    case 'blocks.appended':
    case 'blocks.inserted':
    case 'range.compacted':
      return { ...change, blocks: undefined }
    default:
      return { ...change, ts: undefined }
  }
}

function comparableResponse({ turn_id, iteration, call_id, role, raw, finish_reason }: ResponseReceived) {
  return { turn_id, iteration, raw, finish_reason, ...(role === undefined ? { call_id } : { role }) }
}

function compareBlocks(present: readonly Block[], recorded: readonly Block[], seq: number): Divergence | undefined {
  const ours = recorded.length === present.length ? recorded : withoutHookBlocks(recorded, present.length)
  for (const [index, then] of ours.entries()) {
    const made = present[index]
    const now = made && withoutNewMark(made, then)
    if (!now || now.type !== then.type) return { kind: 'decision', seq, recorded: typesOf(recorded), present: typesOf(present) }
    const field = isInput(then) ? undefined : firstDifference(comparableBlock(now), comparableBlock(then))
    if (field === undefined) continue
    const [was, is] = [valueAt(comparableBlock(then), field), valueAt(comparableBlock(now), field)]
    const excerpts =
      typeof was === 'string' && typeof is === 'string' ? firstTextDifference(was, is) : { recorded: preview(was), present: preview(is) }
    return { kind: 'block', seq, block: blockName(then), field, ...excerpts }
  }
  return present.length > ours.length ? { kind: 'decision', seq, recorded: typesOf(recorded), present: typesOf(present) } : undefined
}

/**
 * The current block without `meta.visibility`, if the recorded block has none. Earlier versions of Daybook did not set the visibility of
 * calls and outputs.
 */
function withoutNewMark(block: Block, { meta: recorded }: Block): Block {
  if (block.meta?.visibility === undefined || recorded?.visibility !== undefined) return block
  const { visibility: _new, ...meta } = block.meta
  return { ...block, meta }
}

/** A block without its id and time. Ids depend only on the order of the blocks, and a replay takes times from the recording. */
function comparableBlock(block: Block): unknown {
  const { id: _id, ts: _ts, ...rest } = dropEmptyMeta(block)
  return rest
}

/** Whether a block is an attachment. Attachments are the input of a turn. A replay does not host them, so their handles would differ. */
const isInput = ({ type }: Block) => type === 'user.attachment' || type === 'user.attachment.meta'

/**
 * The recorded blocks without those that hooks added, because hooks do not run in a replay. Only blocks with a type of Daybook are kept. If
 * the number of these blocks is not `count`, the function returns all recorded blocks.
 */
function withoutHookBlocks(recorded: readonly Block[], count: number): readonly Block[] {
  const ours = recorded.filter(({ type }) => /^(react|assistant|stage|conv|user|turn|system|event)\./.test(type))
  return ours.length === count ? ours : recorded
}

const typesOf = (blocks: readonly Block[]) => blocks.map(({ type }) => type).join(', ') || 'no blocks'

/** The path of the first field that differs, such as `a.b.0`. Undefined when no field differs. */
function firstDifference(one: unknown, other: unknown, path = ''): string | undefined {
  if (Object.is(one, other)) return undefined
  if (Array.isArray(one) && Array.isArray(other)) return inKeys(one, other, path)
  if (isObject(one) && isObject(other)) return inKeys(one, other, path)
  return path === '' ? 'value' : path
}

function inKeys(one: object, other: object, path: string): string | undefined {
  const left = one as Readonly<Record<string, unknown>> // arrays are also compared by key
  const right = other as Readonly<Record<string, unknown>>
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
    const difference = firstDifference(left[key], right[key], path === '' ? key : `${path}.${key}`)
    if (difference !== undefined) return difference
  }
  return undefined
}

function valueAt(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((parent, key) => (parent as Readonly<Record<string, unknown>> | undefined)?.[key], value)
}

function preview(value: unknown): string {
  return ellipsize(JSON.stringify(value) ?? 'nothing', 200)
}

/** The prompt that the current code has built. */
interface PresentPrompt {
  readonly record: PromptRecord
  readonly fingerprints: Fingerprints
  readonly slice: Slice
}

interface PromptCompareOptions {
  /**
   * If true, the list of tools and the system text are not compared. A difference in them would hide all later differences, because only
   * the first difference is returned.
   */
  readonly anySystem: boolean
}

/**
 * Compares two prompts and returns the first difference. The order is: tools, system text, blocks, cache marks, how blocks are joined into
 * parts, tail.
 */
export function comparePrompt(
  present: PresentPrompt,
  response: ResponseReceived,
  seq: number,
  before: RecordedPrompt,
  { anySystem }: PromptCompareOptions,
): PromptDivergence | undefined {
  const recorded = response.prompt
  const place = { kind: 'prompt', seq, iteration: response.iteration } as const
  if (!recorded?.shown) return undefined // an older version of Daybook wrote the entry and recorded no prompt
  const now = present.record
  if (!anySystem && recorded.system && now.system?.tools !== recorded.system.tools) return { ...place, where: 'tools' }
  if (!anySystem && recorded.system && now.system?.hash !== recorded.system.hash) return { ...place, where: 'system text' }
  const block = compareShownBlocks(present, recorded, before)
  if (block) return { ...place, where: 'block', ...block.difference }
  const mark = firstUnequal(now.points, recorded.points)
  if (mark >= 0) return { ...place, where: 'marks', ...blockAtPosition(present, recorded.points?.[mark] ?? now.points?.[mark]) }
  const joint = firstUnequal(now.segments, recorded.segments)
  if (joint >= 0) return { ...place, where: 'joints', ...blockAtPosition(present, recorded.points?.[joint]) }
  const tail = compareTail(now, recorded)
  return tail && { ...place, where: 'tail', ...tail }
}

type PromptDifference = Pick<PromptDivergence, 'block' | 'byte' | 'recorded' | 'present'>

/** The first block that differs from the recorded prompt, and its position among the shown blocks. */
export function compareShownBlocks(
  { fingerprints, slice }: Pick<PresentPrompt, 'fingerprints' | 'slice'>,
  { shown }: PromptRecord,
  before: RecordedPrompt,
): { readonly position: number; readonly difference: PromptDifference } | undefined {
  if (!shown || (shownCount(shown) === fingerprints.count() && fingerprints.chain(fingerprints.count()) === shown.chain)) return undefined
  const then = withShownBlocks(before, shown)
  const hashes = fingerprints.blocks(0)
  const position = then.hashes.findIndex((hash, index) => hash !== undefined && hash !== hashes[index])
  const at = position < 0 ? then.hashes.length : position
  const block = slice.shown[at]?.block
  const text = then.texts[at]
  const difference = {
    ...(block && { block: blockName(block) }),
    ...(text !== undefined && firstTextDifference(text, fingerprints.texts(at)[0] ?? '')),
    ...(text === undefined && describeMissing(then.hashes[at], hashes, at)),
  }
  return { position: at, difference }
}

/**
 * Describes a difference if the text of the recorded block was not stored. The stored hashes still show whether the current prompt has an
 * additional block.
 */
function describeMissing(recorded: number | undefined, present: readonly number[], at: number): Partial<PromptDifference> {
  if (recorded === undefined) return { recorded: 'the end', present: 'one block more' }
  const moved = present.indexOf(shortHash(recorded), at)
  return moved > at ? { recorded: 'not shown', present: 'shown' } : {}
}

/**
 * Compares the tails if both texts are known. Three kinds of sections are left out, because a replay does not have them: the state of the
 * workspace, the changed or missing tools of MCP servers, and the sections that the application added.
 */
function compareTail({ tail: now }: PromptRecord, { tail: then }: PromptRecord): PromptDifference | undefined {
  if (then?.text === undefined || now?.text === undefined) return undefined
  const [was, is] = [comparableTail(then.text), comparableTail(now.text)]
  return was === is ? undefined : firstTextDifference(was, is)
}

const comparableTail = (tail: string) =>
  tail.replace(/\n\n\[(?:TOOLS OF SERVERS\]|APPLICATION: ).*$/s, '').replace(/\n\n\[WORKSPACE\](?:\n .*)*/, '')

function blockAtPosition({ slice }: PresentPrompt, position: number | undefined): PromptDifference {
  const block = position === undefined ? undefined : slice.shown[position]?.block
  return block ? { block: blockName(block) } : {}
}

function firstUnequal(now: readonly number[] = [], then: readonly number[] = []): number {
  const length = Math.max(now.length, then.length)
  for (let index = 0; index < length; index++) if (now[index] !== then[index]) return index
  return -1
}
