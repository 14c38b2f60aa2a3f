import { type Word, wordsOf } from './terms.ts'

/** When the names of a text have given this many terms, the other names of the text are not used. */
const MAX_ENTITIES = 24

/**
 * The terms of the names in a text, found by rules: words that begin with a capital inside a sentence, identifiers of code, file names, and
 * words with digits. A search takes these terms from the turns that it has found and looks for them in other turns. In this way it also
 * finds turns that have no word of the question but have a name in common with a found turn.
 */
export function entityTermsOf(text: string): readonly string[] {
  const words = wordsOf(text)
  const capitals = capitalsInsideSentences(text, words)
  const found = new Set<string>()
  for (const word of words) {
    if (found.size >= MAX_ENTITIES) break
    if (isNamed(text, word, capitals)) for (const term of word.terms) found.add(term)
  }
  return [...found]
}

function isNamed(text: string, word: Word, capitals: ReadonlySet<string>): boolean {
  return capitals.has(word.text) || isIdentifier(word.text) || isFileName(text, word)
}

/**
 * The words that have a capital letter inside a sentence. They are probably names, so they are also treated as names where they begin a
 * sentence.
 */
function capitalsInsideSentences(text: string, words: readonly Word[]): ReadonlySet<string> {
  const found = new Set<string>()
  for (const [index, { text: word, at }] of words.entries()) {
    if (index > 0 && startsUpper(word) && word.length > 1 && !startsSentence(text, at)) found.add(word)
  }
  return found
}

const startsUpper = (word: string): boolean => {
  const [first = ''] = word
  return first !== first.toLowerCase()
}

function startsSentence(text: string, at: number): boolean {
  let before = at - 1
  while (before >= 0 && ' \t"\'“‘(*_#>-'.includes(text[before] as string)) before--
  return before < 0 || '.!?:\n。！？…'.includes(text[before] as string)
}

/** Whether a word is an identifier: it has an underscore, digits after letters, or a capital after a small letter. */
function isIdentifier(word: string): boolean {
  let [lower, letter] = [false, false]
  for (let at = 1; at < word.length; at++) {
    const before = word[at - 1] as string
    lower = before >= 'a' && before <= 'z'
    letter ||= lower || (before >= 'A' && before <= 'Z')
    const here = word[at] as string
    if (here === '_' || (lower && here >= 'A' && here <= 'Z') || (letter && here >= '0' && here <= '9')) return true
  }
  return false
}

/** Whether the word is before or after the dot or slash of a file name such as `src/main.py`. */
function isFileName(text: string, { at, text: word }: Word): boolean {
  const next = text[at + word.length]
  const after = text[at + word.length + 1] ?? ' '
  const before = text[at - 1]
  return (
    ((next === '.' || next === '/') && isWordCharacter(after)) ||
    ((before === '.' || before === '/') && isWordCharacter(text[at - 2] ?? ' '))
  )
}

const isWordCharacter = (character: string): boolean => character === '_' || character.toLowerCase() !== character.toUpperCase()
