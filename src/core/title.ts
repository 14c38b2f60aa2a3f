import { cutAt, ellipsize } from './cut.ts'

/**
 * The highest number of characters in the title of a conversation. There is a limit because a search reads the titles of all conversations.
 */
export const maximumTitleLength = 200

/**
 * Describes why a title is not allowed, as the end of a sentence that begins with the name of the field. Undefined when the title is
 * allowed. The HTTP API also rejects control characters.
 */
export const titleProblem = (title: string): string | undefined =>
  title.length > maximumTitleLength ? `must have at most ${maximumTitleLength} characters, not ${title.length}` : undefined

/** The highest number of characters in a title that a model or a function of the application made. */
const maximumMadeLength = 120

/** A text as a title: one line of at most 120 characters. */
export const asTitle = (text: string): string => cutAt(toOneLine(text), maximumMadeLength)

/** The first words of a message as a title, up to 60 characters. A long word is cut. */
export function firstWords(text: string): string {
  const line = toOneLine(cutAt(text, 1_000))
  if (line.length <= firstWordsLength) return line
  const end = line.lastIndexOf(' ', firstWordsLength - 1)
  return end > firstWordsLength / 2 ? `${line.slice(0, end)}…` : ellipsize(line, firstWordsLength)
}

const firstWordsLength = 60

const toOneLine = (text: string) => text.replace(/\s+/g, ' ').trim()
