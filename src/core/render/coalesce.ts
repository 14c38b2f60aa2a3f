import { textPart } from './text.ts'
import type { Part } from './types.ts'
import type { RenderedBlock } from './walk.ts'

/** A block of a run. Consecutive blocks of one round form a run, and every other block is a run of its own. */
export type RunBlock = Pick<RenderedBlock, 'parts' | 'round' | 'joined'>

export const sameRun = (a: RunBlock, b: RunBlock): boolean => a.round !== undefined && a.round === b.round

/**
 * Joins the blocks of one run into one text part, followed by their images and documents. `end` is exclusive. A round becomes one text
 * part however many results it has, because a provider searches only a limited number of parts before a mark for a cached prefix. The
 * text ends with a blank line, so that consecutive parts read as separate paragraphs.
 */
export function coalesce(blocks: readonly RunBlock[], from = 0, end = blocks.length): readonly Part[] {
  let text = ''
  const binaries: Part[] = []
  for (let position = from; position < end; position++) {
    const block = blocks[position] as RunBlock
    const own = ownText(block)
    if (own !== '') text += text === '' ? own : separatorBefore(block) + own
    for (const part of block.parts) if (part.type !== 'text') binaries.push(part)
  }
  return text === '' ? binaries : [textPart(text + runEnd), ...binaries]
}

export const runEnd = '\n\n'
export const separatorBefore = ({ joined }: RunBlock): string => (joined ? '\n' : '\n\n')

/** The text that a block adds to its run. Trailing newlines are removed: the separator between blocks supplies the line breaks. */
export function ownText({ parts }: RunBlock): string {
  let text: string | undefined
  for (const part of parts) if (part.type === 'text') text = text === undefined ? part.text : `${text}\n${part.text}`
  return trimTrailingNewlines(text ?? '')
}

function trimTrailingNewlines(text: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === '\n') end--
  return end === text.length ? text : text.slice(0, end)
}
