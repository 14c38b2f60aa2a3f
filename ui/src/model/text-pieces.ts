/** A text that grows at its end, divided into pieces at the ends of lines. Only the last piece can still change. */
export interface TextPieces {
  readonly text: string
  /** The pieces that do not change any more. */
  readonly settled: readonly string[]
  /** The offset at which the last piece begins. */
  readonly tailStart: number
}

/** A piece ends with the first line after this number of characters. */
const pieceLength = 4_000

export const noPieces: TextPieces = { text: '', settled: [], tailStart: 0 }

/** Divides a text. If the text continues the text in `before`, only the new part is read. */
export function divideText(text: string, before: TextPieces = noPieces): TextPieces {
  if (text === before.text) return before
  const known = text.length > before.text.length && text.startsWith(before.text) ? before : noPieces
  let { tailStart } = known
  const settled = [...known.settled]
  // the last line may still grow, so a piece ends only where another line has begun
  for (let end = lineEnd(text, tailStart); end > 0 && end < text.length; end = lineEnd(text, tailStart)) {
    settled.push(` ${text.slice(tailStart, end)}`.slice(1)) // a copy, because a part of a string keeps the whole string in memory
    tailStart = end
  }
  return { text, settled, tailStart }
}

/** The offset after the first line end that is at least `pieceLength` characters after `start`. 0 if there is no such line end. */
const lineEnd = (text: string, start: number) => text.indexOf('\n', start + pieceLength) + 1

export const piecesOf = ({ text, settled, tailStart }: TextPieces): readonly string[] => [...settled, text.slice(tailStart)]
