import { memo, useRef } from 'react'
import { divideText, noPieces, piecesOf } from '../model/text-pieces.ts'
import { useDrawnCount } from './drawn-chunks.ts'

interface PlainLinesProps {
  readonly text: string
  /** Whether the text still grows. */
  readonly live: boolean
}

/**
 * A text without formatting. A long text is divided into blocks, so that the browser lays out only the last block again when the text
 * grows. Each block ends at the end of a line, so the blocks look like one text and are copied like one text.
 */
export const PlainLines = memo(function PlainLines({ text, live }: PlainLinesProps) {
  const box = useRef<HTMLSpanElement>(null)
  const divided = useRef(noPieces)
  divided.current = divideText(text, divided.current)
  const pieces = piecesOf(divided.current)
  const drawn = useDrawnCount(box, pieces.length, live)
  if (pieces.length === 1) return text
  return (
    <span ref={box} className="block" data-drawing={drawn < pieces.length || undefined}>
      {pieces.slice(0, drawn).map((piece, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a piece keeps its place, and only the last one changes
        <Piece key={index} text={piece} />
      ))}
    </span>
  )
})

const Piece = memo(function Piece({ text }: { readonly text: string }) {
  return <span className="block">{text}</span>
})
