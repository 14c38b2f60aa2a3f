import { roughTokens, type TokenCounter } from '../../core/estimate/tokens.ts'

/**
 * The maximum number of characters that the tokenizer gets at once. For text without word breaks, such as Chinese, its time is quadratic.
 */
const maxPieceLength = 256

/** With these options, text that looks like a control token of a model, such as `<|endoftext|>`, is counted as plain text. */
const asText = { disallowedSpecial: new Set<string>() }

/**
 * Loads a token counter for the encoding o200k. It is exact for OpenAI's models, and more exact than `roughTokens` for other models. It
 * needs 20 MB and takes a moment to load. Therefore an agent uses it only on request: `createAgent({ tokens: await loadTokenCounter() })`.
 * If the package `gpt-tokenizer` is not installed, the result is `roughTokens`.
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
 * Cuts a text into pieces of at most `maxPieceLength` characters. It cuts before a space, where a tokenizer cuts too. A piece without a
 * space is cut at its end, but never inside a surrogate pair.
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
