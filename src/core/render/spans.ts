import { type RunBlock, runText, sameRun } from './runs.ts'

/** The position of a block in a prompt: the characters `start` to `end` of a text part, or a whole image or document. */
export interface BlockSpan {
  /** The position of the block in the list of shown blocks. */
  readonly position: number
  /** The index of the part. */
  readonly part: number
  readonly start: number
  readonly end: number
}

/**
 * The positions of the shown blocks in the parts that `render` makes of them. `points` are the positions after which a mark is set. The
 * spans of a text part cover it completely: the empty lines after a block belong to this block.
 */
export function blockSpans(shown: readonly RunBlock[], points: readonly number[]): readonly BlockSpan[] {
  const splits = new Set(points)
  const spans: BlockSpan[] = []
  let part = 0
  let from = 0
  for (const [position, block] of shown.entries()) {
    const next = shown[position + 1]
    if (next && sameRun(block, next) && !splits.has(position)) continue
    part = addRun(spans, shown, from, position + 1, part)
    from = position + 1
  }
  return spans
}

/** Adds the spans of one run, and returns the index of the part after it. */
function addRun(spans: BlockSpan[], shown: readonly RunBlock[], from: number, end: number, part: number): number {
  const { text, starts } = runText(shown, from, end)
  let next = text === '' ? part : part + 1
  for (const [index, { position, start }] of starts.entries())
    spans.push({ position, part, start, end: starts[index + 1]?.start ?? text.length })
  for (let position = from; position < end; position++)
    for (const { type } of shown[position]?.parts ?? []) if (type !== 'text') spans.push({ position, part: next++, start: 0, end: 0 })
  return next
}
