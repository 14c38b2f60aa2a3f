import { type DocumentBlock, type Inline, type Look, plainText } from '../structure/document.ts'

/** The content of one slide. */
export interface SlideContent {
  /** Empty when the slide has no heading. */
  readonly title: readonly Inline[]
  readonly blocks: readonly DocumentBlock[]
  /** What the speaker says. Empty when there are no notes. */
  readonly notes: string
  readonly look: Look
  /** Whether this is an opening slide, which has a title and at most a few lines below it. */
  readonly opening: boolean
}

/**
 * Splits a document into slides. Each `section` is a slide. Blocks outside of sections begin a new slide at each heading of level 1 or 2
 * and at each horizontal rule.
 */
export function splitSlides(blocks: readonly DocumentBlock[], title: string | undefined): readonly SlideContent[] {
  const groups: { blocks: DocumentBlock[]; look: Look }[] = []
  let open: DocumentBlock[] | undefined
  for (const block of blocks) {
    if (block.kind === 'slide') {
      groups.push({ blocks: [...block.blocks], look: block.look })
      open = undefined
    } else if (block.kind === 'rule') open = undefined
    else {
      const begins = block.kind === 'heading' && block.level <= 2 && open?.some(({ kind }) => kind !== 'notes')
      if (open === undefined || begins) {
        open = []
        groups.push({ blocks: open, look: {} })
      }
      open.push(block)
    }
  }
  const slides = groups.map(({ blocks: content, look }, index) => slideOf(content, look, index === 0))
  const hasTitle = slides[0] !== undefined && (slides[0].opening || plainText(slides[0].title) === title)
  if (title === undefined || title.trim() === '' || hasTitle) return slides
  return [{ title: [{ kind: 'text', text: title }], blocks: [], notes: '', look: {}, opening: true }, ...slides]
}

function slideOf(all: readonly DocumentBlock[], look: Look, first: boolean): SlideContent {
  const notes = all.flatMap((block) => (block.kind === 'notes' ? [block.text] : [])).join('\n')
  const content = all.filter(({ kind }) => kind !== 'notes').flatMap(separateImages)
  const at = content.findIndex((block) => block.kind === 'heading')
  const heading = at === 0 ? content[at] : undefined
  const title = heading?.kind === 'heading' ? heading.content : []
  const blocks = heading ? content.slice(1) : content
  const opening = first && title.length > 0 && blocks.length <= 3 && blocks.every(({ kind }) => kind === 'paragraph' || kind === 'heading')
  return { title, blocks, notes, look, opening }
}

/** Slides have no images inside of lines, so the images of a paragraph follow after it. */
function separateImages(block: DocumentBlock): readonly DocumentBlock[] {
  if (block.kind !== 'paragraph') return [block]
  const images = block.content.filter((part) => part.kind === 'image')
  if (images.length === 0) return [block]
  const text = block.content.filter((part) => part.kind !== 'image')
  return [{ ...block, content: text }, ...images.map(({ image }): DocumentBlock => ({ kind: 'image', image, caption: [] }))]
}
