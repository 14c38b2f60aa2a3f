import type { Passage } from '../text/passages.ts'
import { type RankedPassage, rankPassages } from '../text/rank.ts'
import { escapeMarkup, quote } from './decision.ts'
import type { OpenDocument } from './open-documents.ts'

/** A passage and the document it is from. */
interface LocatedPassage extends Passage {
  readonly document: OpenDocument
}

/** Less than this much of the question is no answer. */
const minCoverage = 0.3
/** What is nearly as good as the best is told, too. */
const nearBest = 0.75
const maxQuotes = 3

export interface PassageAnswer {
  readonly text: string
  /** How much of the question the best passage speaks of. */
  readonly covers: number
}

/** The passages that answer, word for word, with where they stand. Undefined when none does. */
export function answerFromPassages(question: string, documents: readonly OpenDocument[]): PassageAnswer | undefined {
  const passages = documents.flatMap((document) => document.passages.map((passage): LocatedPassage => ({ ...passage, document })))
  const ranked = rankPassages(question, passages)
  const [best] = ranked
  if (!best || best.covers < minCoverage) return undefined
  const chosen = distinctPassages(ranked.filter(({ score }) => score >= best.score * nearBest)).slice(0, maxQuotes)
  return { text: chosen.map(({ passage }) => quotePassage(passage)).join('\n\n'), covers: best.covers }
}

function distinctPassages(ranked: readonly RankedPassage<LocatedPassage>[]): readonly RankedPassage<LocatedPassage>[] {
  const seen = new Set<string>()
  return ranked.filter(({ passage }) => !seen.has(passage.text) && seen.add(passage.text))
}

function quotePassage(passage: LocatedPassage): string {
  return `**${escapeMarkup(passage.document.name)}**, ${locationOf(passage, passage.document)}:\n\n${quote(passage.text, passage.document)}`
}

function locationOf({ page, line, headings }: Passage, { table, pages }: OpenDocument): string {
  if (page !== undefined) return `page ${page}${pages === undefined ? '' : ` of ${pages}`}`
  const row = table?.rows.find((each) => each.line === line)
  if (row) return `row ${row.number} (line ${line})`
  const section = headings.at(-1)
  return `line ${line}${section === undefined ? '' : `, under “${escapeMarkup(section)}”`}`
}
