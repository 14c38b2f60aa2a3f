import type { Block } from '../../core/block/index.ts'
import { cutBetween } from '../../core/cut.ts'
import { blocksOfChange, type Change } from '../../core/timeline/change.ts'

/** The first difference between the current code and a recording. */
export type Divergence = PromptDivergence | DecisionDivergence | BlockDivergence

/** Where a replay differs from the journal. */
export interface DivergencePlace {
  /** The `seq` of the recorded entry that differs. */
  readonly seq: number
  readonly iteration?: number
}

/** The current code builds a different prompt. */
export interface PromptDivergence extends DivergencePlace {
  readonly kind: 'prompt'
  readonly where: 'system text' | 'tools' | 'block' | 'joints' | 'marks' | 'tail'
  readonly block?: Pick<Block, 'id' | 'type' | 'path'>
  /**
   * The position of the first difference in the rendered block or in the tail, in UTF-8 bytes. Undefined when the text of the prompt was
   * not recorded.
   */
  readonly byte?: number
  readonly recorded?: string
  readonly present?: string
}

/** The current code takes a different step. For example it calls a tool where the recorded turn ended. */
export interface DecisionDivergence extends DivergencePlace {
  readonly kind: 'decision'
  readonly recorded: string
  readonly present: string
}

/** The current code takes the same step, but writes a different block. */
export interface BlockDivergence extends DivergencePlace {
  readonly kind: 'block'
  readonly block: Pick<Block, 'id' | 'type' | 'path'>
  /** The path of the field in the block, such as `text` or `meta.mime`. */
  readonly field: string
  readonly byte?: number
  readonly recorded: string
  readonly present: string
}

export const blockName = ({ id, type, path }: Block): Pick<Block, 'id' | 'type' | 'path'> => ({
  id,
  type,
  ...(path !== undefined && { path }),
})

/** Describes a change in a few words. */
export function describeChange(change: Change | undefined): string {
  if (change === undefined) return 'nothing more'
  if (change.type === 'response.received') return `the model is asked (${change.role ?? 'decision'})`
  if (change.type === 'turn.closed') return `turn.closed (${change.exit_reason})`
  const blocks = blocksOfChange(change)
  return blocks.length === 0 ? change.type : `${change.type}: ${blocks.map(({ type }) => type).join(', ')}`
}

/** The position of the first difference in UTF-8 bytes, and an excerpt of both texts from this position on. */
export function firstTextDifference(
  recorded: string,
  present: string,
): { readonly byte: number; readonly recorded: string; readonly present: string } {
  let unit = 0
  while (unit < recorded.length && unit < present.length && recorded[unit] === present[unit]) unit++
  if (unit > 0 && /[\ud800-\udbff]/.test(recorded[unit - 1] ?? '')) unit-- // do not split a surrogate pair
  const byte = new TextEncoder().encode(recorded.slice(0, unit)).length
  return { byte, recorded: excerpt(recorded, unit), present: excerpt(present, unit) }
}

const EXCERPT = 40

const excerpt = (text: string, from: number): string => cutBetween(text, from, from + EXCERPT)

/** Describes a divergence in one line. */
export function divergenceText(divergence: Divergence): string {
  const { seq, iteration } = divergence
  const at = iteration === undefined ? `entry ${seq}` : `round ${iteration}, entry ${seq}`
  switch (divergence.kind) {
    case 'prompt':
      return `${at}: the prompt differs in ${placeIn(divergence)}${contrast(divergence)}`
    case 'decision':
      return `${at}: on record ${divergence.recorded}; now ${divergence.present}`
    case 'block':
      return `${at}: block ${divergence.block.id} (${divergence.block.type}) differs in ${divergence.field}${byteText(divergence)}${contrast(divergence)}`
    default:
      return divergence satisfies never
  }
}

function placeIn({ where, block, byte }: PromptDivergence): string {
  if (!block) return `the ${where}${byteText({ byte })}`
  const what = where === 'block' ? 'block' : `${where} at block`
  return `${what} ${block.id} (${block.type}${block.path === undefined ? '' : `, ${block.path}`})${byteText({ byte })}`
}

const byteText = ({ byte }: { readonly byte?: number | undefined }) => (byte === undefined ? '' : ` at byte ${byte}`)

function contrast({ recorded, present }: { readonly recorded?: string; readonly present?: string }): string {
  return recorded === undefined || present === undefined ? '' : `: on record ${JSON.stringify(recorded)}, now ${JSON.stringify(present)}`
}
