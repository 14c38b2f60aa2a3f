import { memo, useEffect, useState } from 'react'
import { CopyButton } from '../primitives/copy-button.tsx'
import { Diagram } from './diagram.tsx'
import type { CodePiece } from './highlight.ts'
import { PlainLines } from './plain-lines.tsx'

interface CodeBlockProps {
  readonly code: string
  readonly language: string
  /** Whether the code still arrives. */
  readonly open: boolean
}

/** A block of code, or the diagram that the code describes. */
export const CodeBlock = memo(function CodeBlock(props: CodeBlockProps) {
  const source = <Code {...props} />
  return props.language === 'mermaid' && !props.open ? <Diagram code={props.code} source={source} /> : source
})

/** A block of code. While the code arrives, it is shown as plain text. When it is complete, it gets its colours in the same element. */
function Code({ code, language, open }: CodeBlockProps) {
  const lines = useHighlight(code, language, open)
  return (
    <figure className="group overflow-hidden rounded-lg border border-line bg-raised">
      <figcaption className="flex items-center justify-between pt-1 pr-1 pl-3 text-xs text-faint">
        <span>{language}</span>
        <CopyButton label="Copy code" text={code} />
      </figcaption>
      <pre
        tabIndex={0}
        aria-label={language === '' ? 'Code' : `Code, ${language}`}
        className="max-h-[70dvh] overflow-auto px-3 pb-2.5 font-mono text-[13px] leading-5.5"
        data-open={open || undefined}
        data-highlighted={lines ? true : undefined}
      >
        <code>{lines ? lines.map(renderLine) : <PlainLines text={code} live={open} />}</code>
      </pre>
    </figure>
  )
}

function useHighlight(code: string, language: string, open: boolean) {
  const [result, setResult] = useState<{ readonly code: string; readonly lines: readonly (readonly CodePiece[])[] | undefined }>()
  useEffect(() => {
    if (open || language === '') return
    let left = false
    void import('./highlight.ts').then(({ highlight }) => highlight(code, language)).then((lines) => !left && setResult({ code, lines }))
    return () => {
      left = true
    }
  }, [code, language, open])
  return result?.code === code ? result.lines : undefined
}

/** A line is a span with a line break at its end, so that a copied text is the code and nothing else. */
const renderLine = (line: readonly CodePiece[], index: number, lines: readonly unknown[]) => (
  <span key={index}>
    {line.map(({ text, color }, at) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no id
      <span key={at} style={{ color }}>
        {text}
      </span>
    ))}
    {index < lines.length - 1 && '\n'}
  </span>
)
