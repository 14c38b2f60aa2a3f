import type { Passage } from '../text/passages.ts'
import { type RankedPassage, rankPassages } from '../text/rank.ts'
import { escapeMarkup, mention, quote } from './decision.ts'
import type { OpenDocument } from './open-documents.ts'

/** A passage and the document it is from. */
interface LocatedPassage extends Passage {
  readonly document: OpenDocument
}

/** The best passage must contain at least this share of the words of the question. Otherwise the question is not answered from passages. */
const minCoverage = 0.3
/** Another passage is quoted too if its score is at least this share of the best passage's score. */
const nearBest = 0.75
const maxQuotes = 3

/**
 * Quotes the passages that answer the question. Each quote has the name of the document and the place in it, such as the page. Undefined
 * when no passage answers the question.
 */
export function answerFromPassages(question: string, documents: readonly OpenDocument[]): string | undefined {
  const passages = documents.flatMap((document) => document.passages.map((passage): LocatedPassage => ({ ...passage, document })))
  const ranked = rankPassages(question, passages)
  const [best] = ranked
  if (!best || best.covers < minCoverage) return undefined
  const chosen = distinctPassages(ranked.filter(({ score }) => score >= best.score * nearBest)).slice(0, maxQuotes)
  return chosen.map(({ passage }) => quotePassage(passage)).join('\n\n')
}

function distinctPassages(ranked: readonly RankedPassage<LocatedPassage>[]): readonly RankedPassage<LocatedPassage>[] {
  const seen = new Set<string>()
  return ranked.filter(({ passage }) => !seen.has(passage.text) && seen.add(passage.text))
}

function quotePassage(passage: LocatedPassage): string {
  return `${mention(passage.document)}, ${locationOf(passage, passage.document)}:\n\n${quote(passage.text)}`
}

function locationOf({ page, line, headings }: Passage, { table, pages, origin, name }: OpenDocument): string {
  if (page !== undefined) return `page ${page}${pages === undefined ? '' : ` of ${pages}`}`
  const row = table?.rows.find((each) => each.line === line)
  if (row) return `row ${row.number} (line ${line})`
  const section = headings.at(-1)
  // The model has read only a section of the document, so it does not know the line numbers of the file.
  if (origin === 'knowledge' && name.includes('#'))
    return `line ${line} of the section${section === undefined ? '' : ` “${escapeMarkup(section)}”`}`
  return `line ${line}${section === undefined ? '' : `, under “${escapeMarkup(section)}”`}`
}
