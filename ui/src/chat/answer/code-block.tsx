import { memo } from 'react'
import { CopyButton } from '../../primitives/copy-button.tsx'

interface CodeBlockProps {
  readonly code: string
  readonly language: string
  /** Whether the code still arrives. */
  readonly open: boolean
}

/** A block of code. While it arrives it is plain text in the same element. */
export const CodeBlock = memo(function CodeBlock({ code, language, open }: CodeBlockProps) {
  return (
    <figure className="group overflow-hidden rounded-lg border border-line bg-raised">
      <figcaption className="flex items-center justify-between pt-1 pr-1 pl-3 text-xs text-faint">
        <span>{language}</span>
        <CopyButton label="Copy code" text={code} />
      </figcaption>
      <pre
        tabIndex={0}
        aria-label={language === '' ? 'Code' : `Code, ${language}`}
        className="overflow-x-auto px-3 pb-2.5 font-mono text-[13px] leading-5.5"
        data-open={open || undefined}
      >
        <code>{code}</code>
      </pre>
    </figure>
  )
})
