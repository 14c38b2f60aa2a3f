import type { Passage } from '../text/passages.ts'
import { type Ranked, rank } from '../text/rank.ts'
import type { Opened } from './open.ts'
import { neutral, quote } from './quote.ts'

/** A passage and the document it is from. */
interface Located extends Passage {
  readonly document: Opened
}

/** Less than this much of the question is no answer. */
const leastCovered = 0.3
/** What is nearly as good as the best is told, too. */
const nearlyAsGood = 0.75
const mostQuoted = 3

export interface Found {
  readonly text: string
  /** How much of the question the best passage speaks of. */
  readonly covers: number
}

/** The passages that answer, word for word, with where they stand. Undefined when none does. */
export function answerFromPassages(question: string, documents: readonly Opened[]): Found | undefined {
  const passages = documents.flatMap((document) => document.passages.map((passage): Located => ({ ...passage, document })))
  const ranked = rank(question, passages)
  const [best] = ranked
  if (!best || best.covers < leastCovered) return undefined
  const chosen = distinct(ranked.filter(({ score }) => score >= best.score * nearlyAsGood)).slice(0, mostQuoted)
  return { text: chosen.map(({ passage }) => told(passage)).join('\n\n'), covers: best.covers }
}

function distinct(ranked: readonly Ranked<Located>[]): readonly Ranked<Located>[] {
  const seen = new Set<string>()
  return ranked.filter(({ passage }) => !seen.has(passage.text) && seen.add(passage.text))
}

function told(passage: Located): string {
  return `**${neutral(passage.document.name)}**, ${placeOf(passage, passage.document)}:\n\n${quote(passage.text, passage.document)}`
}

function placeOf({ page, line, headings }: Passage, { table, pages }: Opened): string {
  if (page !== undefined) return `page ${page}${pages === undefined ? '' : ` of ${pages}`}`
  const row = table?.rows.find((each) => each.line === line)
  if (row) return `row ${row.number} (line ${line})`
  const section = headings.at(-1)
  return `line ${line}${section === undefined ? '' : `, under “${neutral(section)}”`}`
}
