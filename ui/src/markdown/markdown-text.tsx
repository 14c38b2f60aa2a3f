import { memo, useRef, useSyncExternalStore } from 'react'
import { chunksOf, emptyMarkdown, settleMarkdown } from '../model/settled-markdown.ts'
import { useDrawnCount } from './drawn-chunks.ts'
import { useRemovedHeight } from './removed-chunks.ts'

type MarkdownView = typeof import('./markdown-view.tsx').default

/**
 * The module with the parser. It is loaded in parallel with the page, because the first answer needs it. It is not a lazy component,
 * because React would first show the text without formatting, even if the module is already loaded, and then replace its elements.
 */
let markdownView: MarkdownView | undefined
const listeners = new Set<() => void>()
void import('./markdown-view.tsx').then((module) => {
  markdownView = module.default
  for (const listener of listeners) listener()
})
const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

interface MarkdownTextProps {
  readonly text: string
  /** Whether the text still grows. */
  readonly live: boolean
}

/**
 * A markdown text. While it grows, only its last chunk is parsed again. With `arriving`, a long text is drawn in steps even if it is complete
 * when it arrives.
 */
export const MarkdownText = memo(function MarkdownText({
  text,
  live,
  arriving = live,
}: MarkdownTextProps & { readonly arriving?: boolean }) {
  const box = useRef<HTMLDivElement>(null)
  const settled = useRef(emptyMarkdown)
  settled.current = settleMarkdown(text, settled.current)
  const chunks = chunksOf(settled.current)
  const drawn = useDrawnCount(box, chunks.length, arriving)
  return (
    <div ref={box} className="prose" data-drawing={drawn < chunks.length || undefined}>
      {chunks.slice(0, drawn).map((chunk, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a chunk keeps its place, and only the last one changes
        <Chunk key={index} text={chunk} live={live && index === chunks.length - 1} many={chunks.length > 8} />
      ))}
    </div>
  )
})

/** One chunk. In a long text, chunks far from the screen have no elements, so that the page needs as little memory as for a short text. */
const Chunk = memo(function Chunk({ text, live, many }: MarkdownTextProps & { readonly many: boolean }) {
  const View = useSyncExternalStore(subscribe, () => markdownView)
  const box = useRef<HTMLDivElement>(null)
  const height = useRemovedHeight(box, many && !live)
  if (height !== undefined) return <div ref={box} data-removed style={{ height }} />
  return (
    <div ref={box} className="prose">
      {View ? <View text={text} live={live} /> : <p className="whitespace-pre-wrap">{text}</p>}
    </div>
  )
})
