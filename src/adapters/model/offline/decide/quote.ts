import type { OpenDocument } from '../../../../offline/decide/open-documents.ts'

/** Words of others inside ours: they must not be able to open a channel or to cite. */
export const escapeMarkup = (text: string): string => text.replace(/<(?=\/?channel:)/gi, '‹').replace(/\[\[(?=S:)/g, '[')

/** ` [[S:3]]`, or nothing for what has no number. */
export const cite = ({ sid }: Pick<OpenDocument, 'sid'>): string => (sid === undefined ? '' : ` [[S:${sid}]]`)

export const quote = (text: string, document: Pick<OpenDocument, 'sid'>): string =>
  `> ${escapeMarkup(text.replace(/\s+/g, ' ').trim())}${cite(document)}`

/** `rows 1–3, 5 and 9`. */
export function listNumbers(numbers: readonly number[], noun: string): string {
  const sorted = [...new Set(numbers)].sort((a, b) => a - b)
  const runs: [first: number, last: number][] = []
  for (const number of sorted) {
    const run = runs.at(-1)
    if (run && run[1] === number - 1) run[1] = number
    else runs.push([number, number])
  }
  const shown = runs
    .slice(0, 12)
    .map(([first, last]) => (first === last ? `${first}` : last === first + 1 ? `${first}, ${last}` : `${first}–${last}`))
  const more = runs.length > shown.length ? ' and more' : ''
  return `${noun}${sorted.length === 1 ? '' : 's'} ${shown.join(', ')}${more}`
}
