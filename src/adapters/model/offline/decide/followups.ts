import type { OpenDocument } from '../../../../offline/decide/open-documents.ts'
import { foldCase } from '../../../../offline/text/words.ts'
import { columnsOf } from '../table/columns.ts'
import { escapeMarkup } from './quote.ts'

/** What could be asked next of the same documents, in words that they answer to. */
export function suggestFollowups(documents: readonly OpenDocument[], request: string): readonly string[] {
  const asked = foldCase(request)
  const ideas = documents.flatMap((document) => (document.table ? tableSuggestions(document) : textSuggestions(document)))
  return [...new Set([...ideas, 'Write a report'])].filter((idea) => !asked.includes(foldCase(idea).replace(/\?$/, ''))).slice(0, 3)
}

function tableSuggestions({ table }: OpenDocument): readonly string[] {
  if (!table) return []
  const columns = columnsOf(table)
  const number = columns.find(({ kind }) => kind === 'number')
  const text = columns.find(
    ({ kind, index }) => kind === 'text' && new Set(table.rows.map(({ cells }) => cells[index])).size < table.rows.length,
  )
  if (!number) return []
  const name = escapeMarkup(number.name)
  return [
    ...(text ? [`What is the total ${name} per ${escapeMarkup(text.name)}?`] : []),
    `Which row has the highest ${name}?`,
    `What is the average ${name}?`,
  ]
}

function textSuggestions({ passages, name }: OpenDocument): readonly string[] {
  const sections = [...new Set(passages.flatMap(({ headings }) => headings.slice(1).slice(-1)))]
  return [...sections.slice(0, 2).map((section) => `What does it say about ${escapeMarkup(section)}?`), `Summarise ${escapeMarkup(name)}`]
}
