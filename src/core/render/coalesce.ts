import type { Part } from './part.ts'
import type { Line } from './show.ts'
import { textPart } from './text.ts'

/**
 * A round as one text part followed by its images and documents. A provider looks back a bounded number of parts for what it has
 * cached: a round of many results must not outrun it. The text ends with a blank line, so that parts put together read as blocks.
 */
export function coalesced(run: readonly Line[]): readonly Part[] {
  let text = ''
  const binaries: Part[] = []
  for (const { parts, joined } of run) {
    let said: string | undefined
    for (const part of parts) {
      if (part.type === 'text') said = said === undefined ? part.text : `${said}\n${part.text}`
      else binaries.push(part)
    }
    const own = withoutClosingLines(said ?? '')
    if (own !== '') text += text === '' ? own : `${joined ? '\n' : '\n\n'}${own}`
  }
  return text === '' ? binaries : [textPart(`${text}\n\n`), ...binaries]
}

/** What ends with empty lines would stand further from the next block than others do. */
function withoutClosingLines(text: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === '\n') end--
  return end === text.length ? text : text.slice(0, end)
}

/** Consecutive blocks of one round are one run; what belongs to no round stands alone. */
export const sameRun = (a: Line, b: Line): boolean => a.round !== undefined && a.round === b.round
