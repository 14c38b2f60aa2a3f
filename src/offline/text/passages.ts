/** A stretch of a document that can stand alone: a sentence, an item of a list, a row of a table. */
export interface Passage {
  /** Word for word as it is in the document, with its white space made plain. */
  readonly text: string
  /** The headings it stands under, the nearest last. */
  readonly headings: readonly string[]
  /** From 1; of a page, when the document has pages. */
  readonly line: number
  readonly page?: number
}

const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/
const item = /^\s*(?:[-*+•]|\d{1,3}[.)])\s+/
const decoration = /^\s*(?:[-=*_]{3,}|\|?[\s:|-]+\||`{3,}.*|<!--.*-->)\s*$/
const maxLength = 600

/** A text, cut where a reader would pause. Empty lines, list items, table rows and headings end a passage; so do sentences. */
export function passagesOf(
  text: string,
  { firstLine = 1, page }: { readonly firstLine?: number; readonly page?: number } = {},
): readonly Passage[] {
  const passages: Passage[] = []
  const headings: { level: number; text: string }[] = []
  let open: { lines: string[]; line: number } | undefined

  function close() {
    if (!open) return
    const under = headings.map(({ text: title }) => title)
    const lines = open.lines.map(collapseSpaces)
    const whole = lines.filter((line) => line !== '').join(' ')
    let [at, line, end] = [0, 0, lines[0]?.length ?? 0]
    for (const sentence of sentencesOf(whole)) {
      at = whole.indexOf(sentence, at)
      while (at > end && line + 1 < lines.length) end += 1 + (lines[++line] as string).length
      passages.push({ text: sentence, headings: under, line: open.line + line, ...(page !== undefined && { page }) })
      at += sentence.length
    }
    open = undefined
  }

  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw
    const [, marks, title = ''] = heading.exec(line) ?? []
    if (marks !== undefined) {
      close()
      while ((headings.at(-1)?.level ?? 0) >= marks.length) headings.pop()
      headings.push({ level: marks.length, text: collapseSpaces(title) })
      continue
    }
    if (line.trim() === '' || decoration.test(line)) {
      close()
      continue
    }
    const begins = item.test(line) || /^\s*[|>]/.test(line)
    if (begins) close()
    open ??= { lines: [], line: firstLine + index }
    open.lines.push(begins ? line.replace(item, '') : line)
    if (/^\s*\|/.test(line)) close()
  }
  close()
  return passages
}

const collapseSpaces = (text: string): string => text.replace(/\s+/g, ' ').trim()

/** A full stop ends a sentence when something new begins after it; never in the middle of a number or after a lone letter. */
const sentenceEnd = /(?<=[\p{L}\p{N})"'”’»%][.!?…]["'”’»)]*) (?=["'“‘«(]?[\p{Lu}\p{Lo}\p{N}])|(?<=[。！？])/u
const abbreviation = /(?:^|[\s(])(?:\p{L}|Dr|Mr|Mrs|Ms|Prof|No|Nr|St|vs|etc|ca|approx|bzw|e\.g|i\.e|z\.B)\.$/u

export function sentencesOf(text: string): readonly string[] {
  const sentences: string[] = []
  for (const piece of text.split(sentenceEnd)) {
    const before = sentences.at(-1)
    if (before !== undefined && abbreviation.test(before)) sentences[sentences.length - 1] = `${before} ${piece}`
    else if (piece.trim() !== '') sentences.push(piece.trim())
  }
  return sentences.flatMap(splitLong)
}

/** What has no sentences is cut between words. */
function splitLong(sentence: string): readonly string[] {
  if (sentence.length <= maxLength) return [sentence]
  const at = sentence.lastIndexOf(' ', maxLength)
  const cut = at > maxLength / 2 ? at : maxLength
  return [sentence.slice(0, cut).trim(), ...splitLong(sentence.slice(cut).trim())]
}
