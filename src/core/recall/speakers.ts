/*
 * Transcripts and group chats name the speaker at the beginning of a line: `Ann: I sold the boat.` A question about Ann is mostly about
 * what Ann said, and less about texts in which others mention her. Therefore the index has a separate term for each speaker.
 */

const MAX_SPEAKERS = 8
const MAX_NAME = 40

/** The terms of the speakers that a text names at the beginning of its lines. */
export function speakerTermsOf(text: string): readonly string[] {
  const found = new Set<string>()
  for (let start = 0; start < text.length && found.size < MAX_SPEAKERS; ) {
    const colon = text.slice(start, start + MAX_NAME).indexOf(':')
    const names =
      colon > 0
        ? text
            .slice(start, start + colon)
            .trim()
            .split(' ')
        : []
    if (names.length <= 3 && text[start + colon + 1] === ' ' && names.every(isName)) for (const name of names) found.add(speakerTerm(name))
    const end = text.indexOf('\n', start)
    start = end < 0 ? text.length : end + 1
  }
  return [...found]
}

/** The term that marks texts in which a person with this name speaks. */
export const speakerTerm = (name: string): string => `@${name.toLowerCase()}`

/** Whether a word begins with a capital and has only letters. */
export function isName(word: string): boolean {
  const [first = ''] = word
  if (word.length < 2 || first === first.toLowerCase()) return false
  return [...word].every((letter) => letter.toLowerCase() !== letter.toUpperCase())
}
