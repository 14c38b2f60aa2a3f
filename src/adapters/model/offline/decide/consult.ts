import { type Document, isPdf, isReadable } from '../../../../offline/prompt/documents.ts'
import type { Situation } from '../../../../offline/prompt/situation.ts'
import { foldCase, wordsOf } from '../../../../offline/text/words.ts'

const maxDocuments = 8

/** The files a request is about: those it names, else those that came with it, else all that were ever attached, the newest ones. */
export function relevantDocuments({ documents, request, turnId, calls }: Situation): readonly Document[] {
  const readable = documents.filter(isReadable)
  const named = readable.filter((document) => isNamed(document, request))
  if (named.length > 0) return named.slice(-maxDocuments)
  const attached = readable.filter(({ origin }) => origin === 'attached')
  const here = attached.filter((document) => document.turnId === turnId)
  const found = readable.filter(({ origin, windows }) => origin === 'knowledge' && windows.length > 0)
  const looked = calls.some(({ toolId }) => toolId === 'react.search_knowledge')
  return [...(here.length > 0 ? here : attached).slice(-maxDocuments), ...(looked ? found.slice(-maxDocuments) : [])]
}

/** Names that many requests speak of without meaning a file. */
const genericNames = new Set(['report', 'summary', 'data', 'file', 'document', 'note', 'notes', 'text', 'table', 'list', 'readme', 'book'])

/** By its whole name, or by its name without the ending. */
function isNamed({ name }: Document, request: string): boolean {
  const text = ` ${normalizeWords(request)} `
  if (foldCase(request).includes(foldCase(name))) return true
  const stem = normalizeWords(name.replace(/\.[^.]*$/, ''))
  return stem.length >= 4 && !genericNames.has(stem) && (text.includes(` ${stem} `) || text.includes(` ${stem}s `))
}

/** Words with one space between them. */
const normalizeWords = (text: string) =>
  wordsOf(text.replaceAll(/[-_]/g, ' '))
    .map(({ text: word }) => foldCase(word))
    .join(' ')

/** What must be brought into view before anything can be said of it, and was not tried yet. */
export function unreadDocuments(documents: readonly Document[], { calls }: Situation): readonly Document[] {
  const tried = new Set(
    calls.flatMap(({ toolId, params }) => (toolId === 'react.read' && Array.isArray(params?.paths) ? params.paths : [])),
  )
  return documents.filter((document) => !tried.has(document.path) && (isPdf(document) ? !document.part : document.windows.length === 0))
}
