import { createElement, Fragment, type ReactNode, useMemo } from 'react'
import remend from 'remend'
import { parseSids } from '../model/citations.ts'
import { type MarkdownNode, parseMarkdown } from '../model/markdown.ts'
import { splitOpenFence } from '../model/settled-markdown.ts'
import { CitationChip } from './citation-chip.tsx'
import { CodeBlock } from './code-block.tsx'
import { MarkdownLink } from './markdown-link.tsx'
import { MathText } from './math-text.tsx'
import { TableBlock } from './table-block.tsx'

/** The elements of one chunk of markdown. While the chunk grows, open emphasis is closed, and an open code fence is not parsed. */
export default function MarkdownView({ text, live }: { readonly text: string; readonly live: boolean }) {
  const open = useMemo(() => (live ? splitOpenFence(text) : undefined), [text, live])
  const before = open?.before ?? text
  const nodes = useMemo(
    () => parseMarkdown(live && !open ? remend(before, { linkMode: 'text-only', images: false }) : before),
    [before, live, open],
  )
  const elementsOfText = nodes.map(renderNode)
  // An open fence has the key that its node will have when the fence is closed, so that its element stays.
  if (open) elementsOfText.push(<CodeBlock key={nodes.length} code={open.code} language={open.language} open />)
  return elementsOfText
}

const elements: ReadonlySet<string> = new Set('p h1 h2 h3 h4 h5 h6 ul ol li blockquote em strong s thead tbody tr th td'.split(' '))

function renderNode(node: MarkdownNode, key: number): ReactNode {
  const { type, tag, token, children } = node
  switch (type) {
    case 'text':
      return token.content
    case 'inline':
      return <Fragment key={key}>{children.map(renderNode)}</Fragment>
    case 'softbreak':
      return '\n'
    case 'hardbreak':
      return <br key={key} />
    case 'hr':
      return <hr key={key} />
    case 'code_inline':
      return <code key={key}>{token.content}</code>
    case 'fence':
    case 'code_block':
      return (
        <CodeBlock key={key} code={token.content.replace(/\n$/, '')} language={token.info.trim().split(/\s/, 1)[0] ?? ''} open={false} />
      )
    case 'citation':
      return <CitationChip key={key} sids={parseSids(token.content)} />
    case 'formula':
      return <MathText key={key} text={token.content} block={token.block} />
    case 'image':
      // the image is not loaded, because a request would tell its site who reads the answer
      return <span key={key}>{token.content === '' ? 'image' : token.content}</span>
    case 'link_open':
      return (
        <MarkdownLink key={key} href={String(token.attrGet('href') ?? '')} title={textOf(children)}>
          {children.map(renderNode)}
        </MarkdownLink>
      )
    case 'table_open':
      return <TableBlock key={key}>{children.map(renderNode)}</TableBlock>
    default:
      return renderElement(node, tag, key)
  }
}

function renderElement({ token, children }: MarkdownNode, tag: string, key: number): ReactNode {
  const content = children.map(renderNode)
  if (!elements.has(tag)) return <Fragment key={key}>{content.length > 0 ? content : token.content}</Fragment>
  if (token.hidden) return <Fragment key={key}>{content}</Fragment> // a paragraph in a list without blank lines has no element of its own
  const start = tag === 'ol' ? Number(token.attrGet('start') ?? 1) : undefined
  return createElement(tag, { key, ...(start !== undefined && start !== 1 && { start }) }, ...content)
}

const textOf = (nodes: readonly MarkdownNode[]): string => nodes.map(({ token, children }) => token.content + textOf(children)).join('')
