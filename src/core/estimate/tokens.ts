/** Counts the tokens of a text. `core` contains no tokenizer, so callers pass a counter. */
export type TokenCounter = (text: string) => number

export const CHARACTERS_PER_TOKEN = 4

/**
 * Estimates the tokens of a text, for use without a tokenizer. It counts one token for four characters of Latin text, and one token for
 * each character of other scripts and each symbol.
 */
export const roughTokens: TokenCounter = (text) => {
  const others = nonLatin.test(text) ? nonLatinCharacters(text) : 0
  return Math.ceil(others + (text.length - others) / CHARACTERS_PER_TOKEN)
}

/**
 * Wraps a counter of the application. When the counter throws, or returns no valid number, `roughTokens` is used for this text. Only the
 * first failure is reported.
 */
export function reliableCounter(count: TokenCounter, onFailure: (error: unknown) => void): TokenCounter {
  let failed = false
  return (text) => {
    let failure: unknown
    try {
      const tokens: unknown = count(text)
      if (typeof tokens === 'number' && tokens >= 0 && tokens < Number.POSITIVE_INFINITY) return tokens
      failure = new TypeError(`the token counter returned ${String(tokens)}; it must return a number of at least 0`)
    } catch (error) {
      failure = error
    }
    if (!failed) onFailure(failure)
    failed = true
    return roughTokens(text)
  }
}

/**
 * Matches all characters except Latin letters, accents, box-drawing lines and bars. It does not match lines and bars, because tokenizers
 * join many of them into few tokens. For a text of ASCII only, JavaScript runs this test without reading the text.
 */
const nonLatin = /[\u0370-\u1dff\u1f00-\u24ff\u25a0-\uffff]/

/** Counts the characters that `nonLatin` matches. A loop is ten times as fast as a list of matches. */
function nonLatinCharacters(text: string): number {
  let count = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code >= 0x370 && (code < 0x1e00 || code >= 0x1f00) && (code < 0x2500 || code >= 0x25a0)) count++
  }
  return count
}

/**
 * The beginning of a text that has at most `max` tokens. It may be a little shorter than possible. It does not end inside a surrogate pair.
 */
export function cutToTokens(text: string, max: number, count: TokenCounter): string {
  let cut = text
  for (let tokens = count(cut); tokens > max && cut !== ''; tokens = count(cut)) {
    const end = Math.min(cut.length - 1, Math.floor((cut.length * max) / tokens))
    cut = cut.slice(0, isHighSurrogate(cut.charCodeAt(end - 1)) ? end - 1 : end)
  }
  return cut
}

const isHighSurrogate = (code: number) => (code & 0xfc00) === 0xd800
