import type { Passage } from '../text/passages.ts'
import { centralPassages, rankPassages } from '../text/rank.ts'
import { contentWords, foldCase, type Word, wordsOf } from '../text/words.ts'
import type { OpenDocument } from './open-documents.ts'

/** How many passages are chosen if the request does not say what the report is about. */
export const maxCentral = 5
const maxMatches = 20
/** If a document has fewer passages with a word of the topic, the report is about the whole document: one sentence is not a report. */
const minMatches = 2

const stemsOf = (text: string): ReadonlySet<string> => new Set(wordsOf(text).map(({ stem }) => stem))

/** Words that do not say what a report is about. They are not stop words, because a question may be about one of them. */
const notTopic = stemsOf(
  'pdf docx markdown files documents attachments all both each every everything whole entire dateien dokumente anhänge alle alles',
)

/** Words that may also describe the report itself, as in “with a chart of the most important facts”. */
const reportWords = stemsOf(
  'report summary memo overview word format chart graph diagram text page short brief long detailed main key most important point fact ' +
    'detail content information include cover describe explain bericht zusammenfassung diagramm seite kurz lang ganz wichtig inhalt',
)

/** The words of a request for a report that say what the report is about. `about` is the request after the word “report”. */
export function topicOf(about: string, documents: readonly OpenDocument[]): readonly Word[] {
  const withoutNames = documents.reduce((text, { name }) => text.replaceAll(foldCase(name), ' '), foldCase(about))
  return contentWords(withoutNames).filter(({ stem }) => !notTopic.has(stem))
}

/**
 * The passages of a document for a report, in the order of the document. They are the passages that contain a word of the topic. If these
 * are too few, or if there is no topic, the passages with the most frequent words of the document are added.
 */
export function passagesAbout(topic: readonly Word[], document: OpenDocument): readonly Passage[] {
  const { passages } = document
  const matches = isWhole(document, topic) ? [] : matchingPassages(topic, passages)
  const others =
    matches.length < minMatches
      ? centralPassages(
          passages.filter((passage) => !matches.includes(passage)),
          maxCentral - matches.length,
        )
      : []
  const chosen = new Set([...matches, ...others])
  return passages.filter((passage) => chosen.has(passage))
}

/**
 * Whether the topic is the whole document. All words of such a topic are in the name of the document, such as “the handbook” for the file
 * `handbook.md`, or describe the report.
 */
function isWhole({ name }: OpenDocument, topic: readonly Word[]): boolean {
  const inName = stemsOf(name.replaceAll('_', ' '))
  return topic.every(({ stem }) => inName.has(stem) || reportWords.has(stem))
}

/** The best passages with a word of the topic. A text that is repeated, such as the header of a page, is taken once. */
function matchingPassages(topic: readonly Word[], passages: readonly Passage[]): readonly Passage[] {
  const question = topic.map(({ text }) => text).join(' ')
  const byText = new Map<string, Passage>()
  for (const { passage } of rankPassages(question, passages)) if (!byText.has(passage.text)) byText.set(passage.text, passage)
  return [...byText.values()].slice(0, maxMatches)
}
