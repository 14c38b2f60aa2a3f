import { type ReactNode, useContext } from 'react'
import { isSafeAddress, sourceOfLink } from '../model/citations.ts'
import { CitationChip } from './citation-chip.tsx'
import { SourcesContext } from './sources-context.ts'

interface MarkdownLinkProps {
  readonly href: string
  /** The text of the link without formatting. */
  readonly title: string
  readonly children: ReactNode
}

/** A link in a text, or the chip of a source if the link stands for a citation. */
export function MarkdownLink({ href, title, children }: MarkdownLinkProps) {
  const source = sourceOfLink(href, title, useContext(SourcesContext))
  if (source) return <CitationChip sids={[source.sid]} />
  if (!isSafeAddress(href)) return <span>{children}</span>
  return (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  )
}
