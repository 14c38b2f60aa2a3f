import { roughTokens, type TokenCounter } from '../../core/estimate/tokens.ts'

/** The tokenizer's work grows with the square of what it can not split: a page of one letter, or of Chinese, would take it half a minute. */
const maxPieceLength = 256

/** Text is text: what looks like a control token of a model was written by someone. */
const asText = { disallowedSpecial: new Set<string>() }

/**
 * Counts as the models of OpenAI do (o200k), closer than a quarter of the characters for every other. Takes a moment and 20 MB to
 * load, so an agent has it only when it is given: `createAgent({ tokens: await loadTokenCounter() })`. The rough guess when the
 * package is not installed.
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

/** Cut where words begin, as a tokenizer does; where no word begins, anywhere but within a character. */
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
  const within = (text.charCodeAt(end) & 0xfc00) === 0xdc00 && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800
  return within ? end - 1 : end
}
