import { type Document, isPdf, isReadable } from '../prompt/document.ts'
import type { Situation } from '../prompt/situation.ts'
import { folded, wordsOf } from '../text/words.ts'

const most = 8

/** The files a request is about: those it names, else those that came with it, else all that were ever attached, the newest ones. */
export function consulted({ documents, request, turnId, calls }: Situation): readonly Document[] {
  const readable = documents.filter(isReadable)
  const named = readable.filter((document) => isNamed(document, request))
  if (named.length > 0) return named.slice(-most)
  const attached = readable.filter(({ origin }) => origin === 'attached')
  const here = attached.filter((document) => document.turnId === turnId)
  const found = readable.filter(({ origin, windows }) => origin === 'knowledge' && windows.length > 0)
  const looked = calls.some(({ toolId }) => toolId === 'react.search_knowledge')
  return [...(here.length > 0 ? here : attached).slice(-most), ...(looked ? found.slice(-most) : [])]
}

/** Names that many requests speak of without meaning a file. */
const plain = new Set(['report', 'summary', 'data', 'file', 'document', 'note', 'notes', 'text', 'table', 'list', 'readme', 'book'])

/** By its whole name, or by its name without the ending. */
function isNamed({ name }: Document, request: string): boolean {
  const text = ` ${spoken(request)} `
  if (folded(request).includes(folded(name))) return true
  const stem = spoken(name.replace(/\.[^.]*$/, ''))
  return stem.length >= 4 && !plain.has(stem) && (text.includes(` ${stem} `) || text.includes(` ${stem}s `))
}

/** Words with one space between them. */
const spoken = (text: string) =>
  wordsOf(text.replaceAll(/[-_]/g, ' '))
    .map(({ text: word }) => folded(word))
    .join(' ')

/** What must be brought into view before anything can be said of it, and was not tried yet. */
export function unread(documents: readonly Document[], { calls }: Situation): readonly Document[] {
  const tried = new Set(
    calls.flatMap(({ toolId, params }) => (toolId === 'react.read' && Array.isArray(params?.paths) ? params.paths : [])),
  )
  return documents.filter((document) => !tried.has(document.path) && (isPdf(document) ? !document.part : document.windows.length === 0))
}
