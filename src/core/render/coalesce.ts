import { textPart } from './text.ts'
import type { Part } from './types.ts'
import type { RenderedBlock } from './walk.ts'

/** What a run is made of. */
export type RunBlock = Pick<RenderedBlock, 'parts' | 'round' | 'joined'>

/**
 * A round, from a line to before another, as one text part followed by its images and documents. A provider looks back a bounded number of parts for what it has
 * cached: a round of many results must not outrun it. The text ends with a blank line, so that parts put together read as blocks.
 */
export function coalesce(lines: readonly RunBlock[], from = 0, end = lines.length): readonly Part[] {
  let text = ''
  const binaries: Part[] = []
  for (let position = from; position < end; position++) {
    const line = lines[position] as RunBlock
    const own = ownText(line)
    if (own !== '') text += text === '' ? own : separatorBefore(line) + own
    for (const part of line.parts) if (part.type !== 'text') binaries.push(part)
  }
  if (text === '') return binaries
  const said = textPart(`${text}${runEnd}`)
  return binaries.length === 0 ? [said] : [said, ...binaries]
}

export const separatorBefore = ({ joined }: RunBlock): string => (joined ? '\n' : '\n\n')
export const runEnd = '\n\n'

/** What a block adds to the text of its run. */
export function ownText({ parts }: RunBlock): string {
  let said: string | undefined
  for (const part of parts) if (part.type === 'text') said = said === undefined ? part.text : `${said}\n${part.text}`
  return trimTrailingNewlines(said ?? '')
}

/** What ends with empty lines would stand further from the next block than others do. */
function trimTrailingNewlines(text: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === '\n') end--
  return end === text.length ? text : text.slice(0, end)
}

/** Consecutive blocks of one round are one run; what belongs to no round stands alone. */
export const sameRun = (a: RunBlock, b: RunBlock): boolean => a.round !== undefined && a.round === b.round
