import { cutAt } from '../../core/cut.ts'

/** A part of a document that can be quoted by itself: a sentence, a list item or a row of a table. */
export interface Passage {
  /** The text of the passage in the document, with single spaces. */
  readonly text: string
  /** The headings above the passage, the nearest one last. */
  readonly headings: readonly string[]
  /** The number of the passage's first line, from 1. In a document with pages, lines are counted from the start of the page. */
  readonly line: number
  readonly page?: number
}

const heading = /^ {0,3}(#{1,6})\s+(.*)$/
const marksAfterHeading = /(?<!#)#+$/
const item = /^\s*(?:[-*+•]|\d{1,3}[.)])\s+/
const decoration = /^(?:[-=*_]{3,}|\|?[\s:|-]+\||```.*|<!--.*-->)$/
const maxLength = 600

/** Cuts a text into passages at empty lines, headings, list items, table rows and the ends of sentences. */
export function passagesOf(
  text: string,
  { firstLine = 1, page }: { readonly firstLine?: number; readonly page?: number } = {},
): readonly Passage[] {
  const passages: Passage[] = []
  const headings: { level: number; text: string }[] = []
  /** The lines of the paragraph that is being read. */
  let open: { lines: string[]; line: number } | undefined

  function close() {
    if (!open) return
    const titles = headings.map(({ text: title }) => title)
    const lines = open.lines.map(collapseSpaces)
    const whole = lines.filter((line) => line !== '').join(' ')
    let [at, line, end] = [0, 0, lines[0]?.length ?? 0]
    for (const sentence of sentencesOf(whole)) {
      at = whole.indexOf(sentence, at)
      while (at > end && line + 1 < lines.length) end += 1 + (lines[++line] as string).length
      passages.push({ text: sentence, headings: titles, line: open.line + line, ...(page !== undefined && { page }) })
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
      headings.push({ level: marks.length, text: collapseSpaces(title.replace(marksAfterHeading, '')) })
      continue
    }
    if (line.trim() === '' || decoration.test(line.trim())) {
      close()
      continue
    }
    const startsPassage = item.test(line) || /^\s*[|>]/.test(line)
    if (startsPassage) close()
    open ??= { lines: [], line: firstLine + index }
    open.lines.push(startsPassage ? line.replace(item, '') : line)
    if (/^\s*\|/.test(line)) close()
  }
  close()
  return passages
}

const collapseSpaces = (text: string): string => text.replace(/\s+/g, ' ').trim()

/**
 * Matches the position between two sentences. The second sentence must begin with a capital letter or a digit. After Chinese or Japanese
 * punctuation it may begin with any character.
 */
const sentenceEnd = /(?<=[\p{L}\p{N})"'”’»%][.!?…]["'”’»)]*) (?=["'“‘«(]?[\p{Lu}\p{Lo}\p{N}])|(?<=[。！？])/u
const abbreviation = /(?:^|[\s(])(?:\p{L}|Dr|Mr|Mrs|Ms|Prof|No|Nr|St|vs|etc|ca|approx|bzw|e\.g|i\.e|z\.B)\.$/u

/** Splits a text into sentences. A sentence that is too long is cut between words. */
function sentencesOf(text: string): readonly string[] {
  const sentences: string[][] = []
  // The last 8 characters of the last sentence. This is enough to recognise every abbreviation, and testing the whole sentence would be
  // slow.
  let tail = ''
  for (const piece of text.split(sentenceEnd)) {
    if (abbreviation.test(tail)) sentences.at(-1)?.push(piece)
    else if (piece.trim() === '') continue
    else sentences.push([piece.trim()])
    tail = (sentences.at(-1)?.slice(-8).join(' ') ?? '').slice(-8)
  }
  return sentences.flatMap((pieces) => splitLong(pieces.join(' ')))
}

/** Cuts a sentence that is too long, between words if possible. */
function splitLong(sentence: string): readonly string[] {
  const parts: string[] = []
  let rest = sentence
  while (rest.length > maxLength) {
    const at = rest.lastIndexOf(' ', maxLength)
    const cut = at > maxLength / 2 ? at : cutAt(rest, maxLength).length
    parts.push(rest.slice(0, cut).trim())
    rest = rest.slice(cut).trim()
  }
  return [...parts, rest]
}
