/** English and German words that do not tell what a sentence is about. */
const stopWords = new Set(
  (
    'a an and any are as at be been being but by can could did do does for from had has have how i if in into is it its just me my of on or our ' +
    'please shall she he should so some than that the their them then there these they this those to was we were what when where which who whom whose why ' +
    'will with would you your about tell say says said give show find much many there also not no yes does ' +
    'der die das den dem des ein eine einen einem einer eines und oder aber ist sind war waren wird werden hat haben im in an am auf aus bei mit nach von vor ' +
    'zu zum zur für über unter ich du er sie es wir ihr was wer wie wo wann warum welche welcher welches welchen wieviel nicht auch noch nur bitte sich ' +
    'file document attachment attached text datei dokument anhang'
  ).split(' '),
)

export interface Word {
  /** The word in lower case, without accents and without endings. Words are compared by their stems. */
  readonly stem: string
  /** The word as it is in the text. */
  readonly text: string
}

const unspacedScript = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u

/** The text in lower case without accents, for comparisons. */
export const foldCase = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replaceAll('ß', 'ss')

/** The words of a text. For scripts without spaces between words, every pair of adjacent characters is a word. */
export function wordsOf(text: string): readonly Word[] {
  return [...text.normalize('NFC').matchAll(/\p{N}+(?:[.,]\p{N}+)*|[\p{L}\p{M}\p{N}]+/gu)].flatMap(([word]) => {
    if (!unspacedScript.test(word)) return [{ stem: stemOf(foldCase(word)), text: word }]
    const characters = [...word]
    if (characters.length === 1) return [{ stem: word, text: word }]
    return characters.slice(1).map((character, index) => {
      const pair = `${characters[index]}${character}`
      return { stem: pair, text: pair }
    })
  })
}

/** The words of a text without stop words. */
export const contentWords = (text: string): readonly Word[] => wordsOf(text).filter(({ text: word }) => !stopWords.has(foldCase(word)))

/** Removes endings such as "ing" and "s". It removes few endings, so that words with different meanings usually keep different stems. */
function stemOf(word: string): string {
  if (word.length < 4 || /\d/.test(word)) return word
  const stem = word
    .replace(/'s$/, '')
    .replace(/(?<=..)ies$/, 'y')
    .replace(/(?<=...)(?:ing|ungen|ed|es|en|er|ern|em|s)$/, '')
    .replace(/(?<=...)(?:er|ing)$/, '') // “members” and “ordered” have two endings
  return stem.replace(/(?<=...)e$/, '').replace(/(?<=..)([^aeioul])\1$/, '$1')
}

export const isNumber = ({ text }: Word): boolean => /^\p{N}/u.test(text)

/** Whether the word begins with a capital letter. */
export const isName = ({ text }: Word): boolean => /^\p{Lu}/u.test(text)
