import type { SourceNumbers } from './citations.ts'
import { type DocumentBlock, type Inline, plainText } from './document.ts'

/** The blocks of the list of sources. Empty when the document cites no sources. */
export function sourceBlocks({ sources }: SourceNumbers): readonly DocumentBlock[] {
  if (sources.length === 0) return []
  const items = sources.map(({ title, url }): readonly DocumentBlock[] => {
    const address: readonly Inline[] = url === undefined ? [] : [{ kind: 'break' }, { kind: 'text', text: url, link: url }]
    return [{ kind: 'paragraph', content: [{ kind: 'text', text: title }, ...address], look: {} }]
  })
  const heading: DocumentBlock = { kind: 'heading', level: 2, content: [{ kind: 'text', text: 'Sources' }], anchor: 'sources', look: {} }
  return [heading, { kind: 'list', ordered: true, start: 1, items }]
}

/** Puts the title before the blocks, if they do not begin with a heading of the first level. */
export function withTitle(blocks: readonly DocumentBlock[], title: string | undefined): readonly DocumentBlock[] {
  const [first] = blocks
  const hasTitle = first?.kind === 'heading' && first.level === 1 && plainText(first.content).trim() !== ''
  if (title === undefined || title.trim() === '' || hasTitle) return blocks
  return [{ kind: 'heading', level: 1, content: [{ kind: 'text', text: title }], look: {} }, ...blocks]
}
