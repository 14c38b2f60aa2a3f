/** Words that say nothing about what a sentence is about: English, German, and what questions are made of. */
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
  /** As it is compared. */
  readonly stem: string
  /** As it is written. */
  readonly text: string
}

const unspacedScript = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u

/** Letters without accents and case. */
export const foldCase = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replaceAll('ß', 'ss')

/** The words of a text, and pairs of signs where a script has no spaces between words. */
export function wordsOf(text: string): readonly Word[] {
  return [...text.normalize('NFC').matchAll(/\p{N}+(?:[.,]\p{N}+)*|[\p{L}\p{M}\p{N}]+/gu)].flatMap(([found]) => {
    if (!unspacedScript.test(found)) return [{ stem: stemOf(foldCase(found)), text: found }]
    const signs = [...found]
    if (signs.length === 1) return [{ stem: found, text: found }]
    return signs.slice(1).map((sign, index) => ({ stem: `${signs[index]}${sign}`, text: `${signs[index]}${sign}` }))
  })
}

/** Only those that say what it is about. */
export const contentWords = (text: string): readonly Word[] => wordsOf(text).filter(({ text: word }) => !stopWords.has(foldCase(word)))

/** Endings that the same word takes in another sentence. Light on purpose: two words must not become one. */
function stemOf(word: string): string {
  if (word.length < 4 || /\d/.test(word)) return word
  const stem = word
    .replace(/'s$/, '')
    .replace(/(?<=..)ies$/, 'y')
    .replace(/(?<=...)(?:ing|ungen|ed|es|en|er|ern|em|s)$/, '')
  return stem.replace(/(?<=...)e$/, '').replace(/(?<=..)([^aeioul])\1$/, '$1')
}

export const isNumber = ({ text }: Word): boolean => /^\p{N}/u.test(text)

/** Written large where nothing asks for it. */
export const isName = ({ text }: Word): boolean => /^\p{Lu}/u.test(text)
