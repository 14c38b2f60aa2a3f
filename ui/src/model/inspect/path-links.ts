/** A piece of a text. `path` is set if the piece is the logical path of a block. */
export interface TextPiece {
  readonly text: string
  readonly path?: string
}

const borders = new Set([' ', '\n', '\t', '"', "'", '`', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';', '|'])

/** Splits a text so that each known path is a piece of its own. A path ends at a space, a quote or a bracket. Reads the text once. */
export function linkPaths(text: string, isKnown: (path: string) => boolean): readonly TextPiece[] {
  const pieces: TextPiece[] = []
  let plainFrom = 0
  let from = 0
  const endWord = (end: number) => {
    const word = text.slice(from, end)
    const path = isKnown(word) ? word : word.endsWith('.') && isKnown(word.slice(0, -1)) ? word.slice(0, -1) : undefined
    if (path === undefined) return
    if (from > plainFrom) pieces.push({ text: text.slice(plainFrom, from) })
    pieces.push({ text: path, path })
    plainFrom = from + path.length
  }
  for (let index = 0; index < text.length; index++) {
    if (!borders.has(text[index] as string)) continue
    if (index > from) endWord(index)
    from = index + 1
  }
  if (from < text.length) endWord(text.length)
  if (plainFrom < text.length) pieces.push({ text: text.slice(plainFrom) })
  return pieces
}
