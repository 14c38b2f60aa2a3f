/** A part of a document that a search finds and `react.read` can show alone. The texts of all sections together are the document. */
export interface Section {
  /** The name in paths, after `#`. Empty for the text before the first heading. */
  readonly anchor: string
  /** The headings of the sections around this section, outermost first, and then its own heading. */
  readonly headings: readonly string[]
  /** The text up to the next heading. */
  readonly text: string
  /** How many of the following sections are parts of this section. */
  readonly below: number
}

interface Heading {
  readonly level: number
  readonly text: string
  readonly start: number
}

/** The most sections of one document. In a longer document, the last section has the rest of the text. */
const maxSections = 2_000
const maxHeading = 160

/** The sections of a Markdown text, in order. Lines in fenced code are no headings. */
export function markdownSections(text: string): readonly Section[] {
  const headings = headingsIn(text).slice(0, maxSections - 1)
  const unique = createAnchors()
  const preamble = text.slice(0, headings[0]?.start)
  const open: Heading[] = []
  const sections = headings.map((heading, index): Section => {
    while (open.length > 0 && (open.at(-1) as Heading).level >= heading.level) open.pop()
    open.push(heading)
    const after = headings.slice(index + 1)
    const next = after.findIndex(({ level }) => level <= heading.level)
    const start = index === 0 && preamble.trim() === '' ? 0 : heading.start
    return {
      anchor: unique(heading.text),
      headings: open.map(({ text }) => text),
      text: text.slice(start, after[0]?.start),
      below: next === -1 ? after.length : next,
    }
  })
  return sections.length > 0 && preamble.trim() === '' ? sections : [{ anchor: '', headings: [], text: preamble, below: 0 }, ...sections]
}

function headingsIn(text: string): readonly Heading[] {
  const headings: Heading[] = []
  let fence: string | undefined
  let previous: { readonly line: string; readonly start: number } | undefined
  for (const { line, start } of linesOf(text)) {
    const trimmed = line.trim()
    const mark = trimmed.startsWith('```') ? '```' : trimmed.startsWith('~~~') ? '~~~' : undefined
    if (mark !== undefined && (fence === undefined || fence === mark)) fence = fence === undefined ? mark : undefined
    else if (fence === undefined) {
      const level = atxLevel(line)
      const underline = previous === undefined ? undefined : underlineLevel(trimmed)
      const words = level === undefined ? '' : withoutClosingMarks(line.trim().slice(level))
      if (level !== undefined && words !== '') headings.push({ level, text: words.slice(0, maxHeading), start })
      else if (previous && underline !== undefined && isParagraph(previous.line))
        headings.push({ level: underline, text: previous.line.trim().slice(0, maxHeading), start: previous.start })
    }
    previous = fence === undefined && trimmed !== '' ? { line, start } : undefined
  }
  return headings
}

/** The level of a heading such as `## Name`. */
function atxLevel(line: string): number | undefined {
  const start = line.length - line.trimStart().length
  if (start > 3) return undefined
  let level = 0
  while (line[start + level] === '#') level++
  return level > 0 && level < 7 && line[start + level] === ' ' ? level : undefined
}

/** The level of a heading whose next line is `===` or `---`. */
function underlineLevel(line: string): number | undefined {
  if (line.length < 3 || [...line].some((character) => character !== line[0])) return undefined
  return line[0] === '=' ? 1 : line[0] === '-' ? 2 : undefined
}

const isParagraph = (line: string): boolean =>
  line.length <= maxHeading && !['#', '>', '|', '-', '*', '`', '<'].includes(line.trimStart()[0] ?? '#')

function withoutClosingMarks(text: string): string {
  let end = text.trimEnd().length
  while (end > 0 && text[end - 1] === '#') end--
  return text.slice(0, end).trim()
}

/** The pages of a document, each a section. */
export const pageSections = (pages: readonly string[]): readonly Section[] =>
  pages.map((page, index) => {
    const name = `page ${index + 1}`
    return { anchor: `page-${index + 1}`, headings: [name], text: `[${name}]\n${page.trimEnd()}\n\n`, below: 0 }
  })

const linesPerSection = 80

/** Parts of a text without headings, such as a program: every 80 lines are a section. */
export function lineSections(text: string): readonly Section[] {
  const starts = [...linesOf(text)].map(({ start }) => start)
  const sections: Section[] = []
  for (let from = 0; from < starts.length && sections.length < maxSections; from += linesPerSection) {
    const isLast = sections.length === maxSections - 1 || from + linesPerSection >= starts.length
    const to = isLast ? starts.length : from + linesPerSection
    sections.push({
      anchor: `L${from + 1}-${to}`,
      headings: [`lines ${from + 1}-${to}`],
      text: text.slice(starts[from], starts[to]),
      below: 0,
    })
  }
  return sections
}

function* linesOf(text: string): Iterable<{ readonly line: string; readonly start: number }> {
  for (let start = 0; start < text.length; ) {
    const at = text.indexOf('\n', start)
    const end = at === -1 ? text.length : at
    yield { line: text.slice(start, end), start }
    start = end + 1
  }
}

/** Makes names for paths of headings, as GitHub does: `How to install` becomes `how-to-install`, and the second one `how-to-install-1`. */
function createAnchors(): (heading: string) => string {
  const used = new Map<string, number>()
  return (heading) => {
    const name = slugOf(heading) || 'section'
    const count = used.get(name) ?? 0
    used.set(name, count + 1)
    return count === 0 ? name : `${name}-${count}`
  }
}

/** Letters, digits, `_` and `-` of a heading in lower case. White space becomes `-`. */
export function slugOf(heading: string): string {
  let slug = ''
  for (const character of heading.normalize('NFC').toLowerCase()) {
    if (character === ' ' || character === '\t') slug += '-'
    else if (character === '-' || character === '_' || isLetterOrDigit(character)) slug += character
    if (slug.length >= 80) break
  }
  return slug
}

const letterOrDigit = /^[\p{L}\p{N}\p{M}]$/u
const isLetterOrDigit = (character: string): boolean => letterOrDigit.test(character)
