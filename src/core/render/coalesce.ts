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
    const own = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
    if (own !== '') text += text === '' ? own : `${joined ? '\n' : '\n\n'}${own}`
    binaries.push(...parts.filter((part) => part.type !== 'text'))
  }
  return text === '' ? binaries : [textPart(`${text}\n\n`), ...binaries]
}

/** Consecutive blocks of one round are one run; what belongs to no round stands alone. */
export const sameRun = (a: Line, b: Line): boolean => a.round !== undefined && a.round === b.round
