import { contentWords, isName, isNumber, type Word, wordsOf } from '../../../../offline/text/words.ts'
import type { Column } from './columns.ts'

/** Words that a question about rows is made of, whatever the table is. */
const questionWords = new Set(
  wordsOf(
    'row record entry line table csv data value column list show give find name all each every any sold sell made make came come bought buy paid pay cost ' +
      'ordered placed took got different distinct unique number count total sum amount overall altogether combined per during between than more less greater ' +
      'higher lower fewer above below over under least most top first last best worst highest lowest largest smallest biggest greatest longest shortest ' +
      'cheapest maximum minimum max min fewest bottom latest newest earliest oldest average mean avg exceeding which whose one two three four five six ' +
      'seven eight nine ten january february march april may june july august september october november december',
  ).map(({ stem }) => stem),
)

const germanWords = /\b(?:wie|welche[rnsm]?|wer|was|ist|sind|der|die|das|und|aus|viele|gibt)\b/i

/** What a question says that the table does not know. */
export interface UnknownWords {
  /** Plain words: they may only be another way to say it. */
  readonly words: readonly string[]
  /** Names and numbers: whoever says one means it. */
  readonly names: readonly string[]
}

/** `rest` is the question without what was understood as a condition. */
export function findUnknownWords(question: string, rest: string, columns: readonly Column[]): UnknownWords {
  const known = new Set([...questionWords, ...columns.flatMap(({ stems }) => stems)])
  const left = contentWords(rest).filter(({ stem, text }) => !known.has(stem) && !/^\d{1,2}$/.test(text))
  const [, ...spoken] = wordsOf(question) // a question begins with a capital, whatever it says
  const capital = new Set(germanWords.test(question) ? [] : spoken.filter(isName).map(({ stem }) => stem)) // German has them everywhere
  const named = (word: Word) => isNumber(word) || capital.has(word.stem)
  const asWritten = (word: Word) => spoken.find(({ stem }) => stem === word.stem)?.text ?? word.text
  return {
    words: left.filter((word) => !named(word)).map(({ text }) => text),
    names: left.filter(named).map(asWritten),
  }
}
