import { columnsOf } from '../table/columns.ts'
import { folded } from '../text/words.ts'
import type { Opened } from './open.ts'
import { neutral } from './quote.ts'

/** What could be asked next of the same documents, in words that they answer to. */
export function followupsFor(documents: readonly Opened[], request: string): readonly string[] {
  const asked = folded(request)
  const ideas = documents.flatMap((document) => (document.table ? tableIdeas(document) : textIdeas(document)))
  return [...new Set([...ideas, 'Write a report'])].filter((idea) => !asked.includes(folded(idea).replace(/\?$/, ''))).slice(0, 3)
}

function tableIdeas({ table }: Opened): readonly string[] {
  if (!table) return []
  const columns = columnsOf(table)
  const number = columns.find(({ kind }) => kind === 'number')
  const text = columns.find(
    ({ kind, index }) => kind === 'text' && new Set(table.rows.map(({ cells }) => cells[index])).size < table.rows.length,
  )
  if (!number) return []
  const name = neutral(number.name)
  return [
    ...(text ? [`What is the total ${name} per ${neutral(text.name)}?`] : []),
    `Which row has the highest ${name}?`,
    `What is the average ${name}?`,
  ]
}

function textIdeas({ passages, name }: Opened): readonly string[] {
  const sections = [...new Set(passages.flatMap(({ headings }) => headings.slice(1).slice(-1)))]
  return [...sections.slice(0, 2).map((section) => `What does it say about ${neutral(section)}?`), `Summarise ${neutral(name)}`]
}
