import { lazy, memo, Suspense, useRef } from 'react'
import { chunksOf, emptyMarkdown, settleMarkdown } from '../../model/settled-markdown.ts'

const loadView = () => import('./markdown-view.tsx')
const MarkdownView = lazy(loadView)
void loadView() // the first answer needs it, so it is loaded beside the page

interface AnswerTextProps {
  readonly text: string
  /** Whether the text still grows. */
  readonly live: boolean
}

/** A markdown text. While it grows, only its last chunk is parsed again. */
export const AnswerText = memo(function AnswerText({ text, live }: AnswerTextProps) {
  const settled = useRef(emptyMarkdown)
  settled.current = settleMarkdown(text, settled.current)
  const chunks = chunksOf(settled.current)
  return (
    <div className="prose">
      {chunks.map((chunk, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a chunk keeps its place, and only the last one changes
        <Chunk key={index} text={chunk} live={live && index === chunks.length - 1} many={chunks.length > 4} />
      ))}
    </div>
  )
})

/** One chunk. In a long text, the browser skips the layout of chunks that are not on the screen. */
const Chunk = memo(function Chunk({ text, live, many }: AnswerTextProps & { readonly many: boolean }) {
  const height = `auto ${Math.round(text.length / 3.2)}px`
  return (
    <div className="prose" style={many && !live ? { contentVisibility: 'auto', containIntrinsicBlockSize: height } : undefined}>
      <Suspense fallback={<p className="whitespace-pre-wrap">{text}</p>}>
        <MarkdownView text={text} live={live} />
      </Suspense>
    </div>
  )
})
