import { shortHash } from '../../core/hash.ts'
import type { Fingerprints } from '../../core/render/fingerprints.ts'
import { shownCount } from '../../core/render/shown-print.ts'
import type { Slice } from '../../core/render/slice.ts'
import type { PromptRecord, ResponseReceived } from '../../core/timeline/change.ts'
import { blockName, firstTextDifference, type PromptDivergence } from './divergence.ts'
import { type RecordedPrompt, withShownBlocks } from './recording.ts'

/** What the present code is about to send. */
export interface PresentPrompt {
  readonly record: PromptRecord
  readonly prints: Fingerprints
  readonly slice: Slice
}

export interface PromptCompareOptions {
  /** The system text is not compared: whoever tries another one wants to know what else changes. */
  readonly anySystem: boolean
}

/** From the first byte to the last: system text and tools, the blocks, how they are joined, where the marks stand, the tail. */
export function comparePrompt(
  present: PresentPrompt,
  response: ResponseReceived,
  seq: number,
  before: RecordedPrompt,
  { anySystem }: PromptCompareOptions,
): PromptDivergence | undefined {
  const recorded = response.prompt
  const at = { kind: 'prompt', seq, iteration: response.iteration } as const
  if (!recorded?.shown) return undefined // entered by a version that wrote nothing down
  const now = present.record
  if (!anySystem && recorded.system && now.system?.tools !== recorded.system.tools) return { ...at, where: 'tools' }
  if (!anySystem && recorded.system && now.system?.hash !== recorded.system.hash) return { ...at, where: 'system text' }
  const block = compareShownBlocks(present, recorded, before)
  if (block) return { ...at, where: 'block', ...block }
  const mark = firstUnequal(now.points, recorded.points)
  if (mark >= 0) return { ...at, where: 'marks', ...blockAtPosition(present, recorded.points?.[mark] ?? now.points?.[mark]) }
  const joint = firstUnequal(now.segments, recorded.segments)
  if (joint >= 0) return { ...at, where: 'joints', ...blockAtPosition(present, recorded.points?.[joint]) }
  const tail = compareTail(now, recorded)
  return tail && { ...at, where: 'tail', ...tail }
}

type PromptDifference = Pick<PromptDivergence, 'block' | 'byte' | 'recorded' | 'present'>

function compareShownBlocks(
  { prints, slice }: PresentPrompt,
  { shown }: PromptRecord,
  before: RecordedPrompt,
): PromptDifference | undefined {
  if (!shown || (shownCount(shown) === prints.count() && prints.chain(prints.count()) === shown.chain)) return undefined
  const then = withShownBlocks(before, shown)
  const hashes = prints.blocks(0)
  const position = then.hashes.findIndex((hash, index) => hash !== undefined && hash !== hashes[index])
  const at = position < 0 ? then.hashes.length : position
  const block = slice.shown[at]?.block
  const text = then.texts[at]
  return {
    ...(block && { block: blockName(block) }),
    ...(text !== undefined && firstTextDifference(text, prints.texts(at)[0] ?? '')),
    ...(text === undefined && describeMissing(then.hashes[at], hashes, at)),
  }
}

/** Without the text, a block that only moved can still be told from one that changed. */
function describeMissing(recorded: number | undefined, present: readonly number[], at: number): Partial<PromptDifference> {
  if (recorded === undefined) return { recorded: 'the end', present: 'one block more' }
  const moved = present.indexOf(shortHash(recorded), at)
  return moved > at ? { recorded: 'not shown', present: 'shown' } : {}
}

/** Of the tail where it was kept; what it says of the workspace is the world's. */
function compareTail({ tail: now }: PromptRecord, { tail: then }: PromptRecord): PromptDifference | undefined {
  if (then?.text === undefined || now?.text === undefined) return undefined
  const [was, is] = [withoutWorkspace(then.text), withoutWorkspace(now.text)]
  return was === is ? undefined : firstTextDifference(was, is)
}

const withoutWorkspace = (tail: string) => tail.replace(/\n\n\[WORKSPACE\](?:\n .*)*/, '')

function blockAtPosition({ slice }: PresentPrompt, position: number | undefined): PromptDifference {
  const block = position === undefined ? undefined : slice.shown[position]?.block
  return block ? { block: blockName(block) } : {}
}

function firstUnequal(now: readonly number[] = [], then: readonly number[] = []): number {
  const length = Math.max(now.length, then.length)
  for (let index = 0; index < length; index++) if (now[index] !== then[index]) return index
  return -1
}
