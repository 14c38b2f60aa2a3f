import { roughTokens, type TokenCounter } from '../../core/estimate/tokens.ts'

/** Characters. The tokenizer needs quadratic time for text without word breaks: half a minute for a page of one letter or of Chinese. */
const maxPieceLength = 256

/** Options by which text that looks like a control token of a model (`<|endoftext|>`) is counted as plain text. */
const asText = { disallowedSpecial: new Set<string>() }

/**
 * Loads a token counter for the o200k encoding: exact for OpenAI's models and closer than characters / 4 for all others. Loading takes
 * a moment and 20 MB, so agents use it only when it is passed: `createAgent({ tokens: await loadTokenCounter() })`. Falls back to the
 * rough estimate when the package `gpt-tokenizer` is not installed.
 */
export async function loadTokenCounter(): Promise<TokenCounter> {
  try {
    const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base')
    return (text) => splitPieces(text).reduce((sum, piece) => sum + countTokens(piece, asText), 0)
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    return roughTokens
  }
}

/**
 * Cuts a text into short pieces: before words, as a tokenizer does, or where there is no word break anywhere but inside a surrogate
 * pair.
 */
function splitPieces(text: string): readonly string[] {
  const pieces: string[] = []
  for (let start = 0; start < text.length; ) {
    const end = start + maxPieceLength >= text.length ? text.length : cutPosition(text, start, start + maxPieceLength)
    pieces.push(text.slice(start, end))
    start = end
  }
  return pieces
}

function cutPosition(text: string, start: number, end: number): number {
  const space = text.lastIndexOf(' ', end - 1)
  if (space > start) return space
  const insidePair = (text.charCodeAt(end) & 0xfc00) === 0xdc00 && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800
  return insidePair ? end - 1 : end
}
