/** Counts the tokens of a text. Core contains no tokenizer, so callers pass in a counter. */
export type TokenCounter = (text: string) => number

export const CHARACTERS_PER_TOKEN = 4

/**
 * Estimates four characters per token for Latin text, and one character per token for other scripts and for symbols. It is used when no
 * tokenizer is given.
 */
export const roughTokens: TokenCounter = (text) => {
  const others = nonLatin.test(text) ? nonLatinCharacters(text) : 0
  return Math.ceil(others + (text.length - others) / CHARACTERS_PER_TOKEN)
}

/**
 * A counter of the application that can be relied on: where it throws or gives no number of tokens, `roughTokens` counts. The first failure
 * is reported.
 */
export function reliableCounter(count: TokenCounter, onFailure: (error: unknown) => void): TokenCounter {
  let failed = false
  return (text) => {
    let failure: unknown
    try {
      const tokens: unknown = count(text)
      if (typeof tokens === 'number' && tokens >= 0 && tokens < Number.POSITIVE_INFINITY) return tokens
      failure = new TypeError(`the token counter gave ${String(tokens)}`)
    } catch (error) {
      failure = error
    }
    if (!failed) onFailure(failure)
    failed = true
    return roughTokens(text)
  }
}

/**
 * Everything but Latin letters, their marks, and lines and bars, which tokenizers join. The engine stores ASCII text with one byte per
 * character and answers this test for it without reading it.
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

/** The longest beginning of a text that has at most `max` tokens, roughly. It does not end inside a surrogate pair. */
export function cutToTokens(text: string, max: number, count: TokenCounter): string {
  let cut = text
  for (let tokens = count(cut); tokens > max && cut !== ''; tokens = count(cut)) {
    const end = Math.min(cut.length - 1, Math.floor((cut.length * max) / tokens))
    cut = cut.slice(0, isHighSurrogate(cut.charCodeAt(end - 1)) ? end - 1 : end)
  }
  return cut
}

const isHighSurrogate = (code: number) => (code & 0xfc00) === 0xd800
