import { cutAt } from '../../core/cut.ts'
import type { Situation } from '../prompt/situation.ts'
import { columnsOf } from '../table/table.ts'
import { foldCase } from '../text/words.ts'
import { answer, type Decision, escapeMarkup } from './decision.ts'
import type { Intent } from './intent.ts'
import type { OpenDocument } from './open-documents.ts'

/** Tells the user how to configure a real model. */
export const howToSetModel =
  'For questions that take understanding set a real model and start again: `DAYBOOK_MODEL=anthropic/claude-sonnet-5-5` with `ANTHROPIC_API_KEY`, `openai/…` with `OPENAI_API_KEY`, or `ollama/…` for one on your own machine.'

const abilities = `I am the offline model: no network, no key, nothing learned. I work with what you give me:

- questions about attached text, Markdown, CSV and PDF files, answered with quotes and sources
- counting, adding, averaging, filtering and ranking rows of a CSV file
- reports and summaries of your files
- remembering what you tell me (“remember that …”)

${howToSetModel}`

/** The reply to greetings, thanks, and questions about the date or about the model itself. Undefined for other messages. */
export function cannedReply(intent: Intent, { documents, announce }: Situation): Decision | undefined {
  const names = documents.filter(({ origin }) => origin === 'attached').map(({ name }) => escapeMarkup(name))
  const about =
    names.length > 0 ? `Ask me about ${names.slice(-3).join(', ')}.` : 'Attach a text, Markdown, CSV or PDF file and ask me about it.'
  const starters = names.length > 0 ? [`Summarise ${names.at(-1)}`, 'Write a report'] : ['What can you do?']
  switch (intent.kind) {
    case 'empty':
      return answer('The message is empty.', `I did not find a question in your message. ${about}`, starters)
    case 'greeting':
      return answer('A greeting.', `Hello! ${about}`, starters)
    case 'thanks':
      return answer('Nothing is asked.', `You are welcome. ${about}`, starters)
    case 'farewell':
      return answer('A farewell.', 'Goodbye! Everything we did stays in this conversation.')
    case 'abilities':
      return answer('They ask what I can do.', abilities, names.length > 0 ? starters : [])
    case 'date':
      return announce.date === undefined ? undefined : answer('The date is announced.', `Today is ${announce.date} (UTC).`)
    default:
      return undefined
  }
}

/** Says that the model can not answer the question, and how to get an answer. */
export function cannotAnswer({ documents }: Situation, request: string): Decision {
  const unseen = documents.filter(({ mime }) => mime.startsWith('image/')).map(({ name }) => escapeMarkup(name))
  const pictures = unseen.length > 0 ? ` I can not look at pictures (${unseen.slice(-3).join(', ')}).` : ''
  const question = escapeMarkup(cutAt(request.replace(/\s+/g, ' '), 120))
  return answer(
    'Nothing in sight answers this.',
    `I can not answer “${question}”: I am the offline model and know only what is attached, noted or in the knowledge space.${pictures}\n\n${howToSetModel}`,
    ['What can you do?'],
  )
}

/** Suggests up to three questions about these documents that the offline model can answer. The current request is left out. */
export function suggestFollowups(documents: readonly OpenDocument[], request: string): readonly string[] {
  const folded = foldCase(request)
  const ideas = documents.flatMap((document) => (document.table ? tableSuggestions(document) : textSuggestions(document)))
  return [...new Set([...ideas, 'Write a report'])].filter((idea) => !folded.includes(foldCase(idea).replace(/\?$/, ''))).slice(0, 3)
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
