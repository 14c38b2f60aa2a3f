import type * as Docx from 'docx'
import { linkAddress, type NumberedSource, type SourceNumbers } from '../structure/citations.ts'
import { type Chart, type Inline, isRightToLeft, type Look, plainText } from '../structure/document.ts'
import { picture } from './docx-pictures.ts'
import type { ImageReader, OfficeImage } from './images.ts'

/** Values and functions that all parts of a Word document share while it is made. */
export interface DocxContext {
  readonly docx: typeof Docx
  readonly images: ImageReader
  readonly citations: SourceNumbers
  /** Adds a footnote and returns its number. */
  addFootnote(source: NumberedSource): number
  /** Makes a new ordered list that starts with this number. Returns its reference and instance. */
  newList(start: number): { readonly reference: string; readonly instance: number }
  /** Adds a chart and returns its placeholder text. */
  addChart(chart: Chart): string
  /** Draws a diagram. Undefined when the diagram can not be drawn. */
  drawDiagram(source: string): Promise<OfficeImage | undefined>
  /** The space between the margins, in pixels. */
  readonly width: number
}

export const codeFont = 'Consolas'
export const linkColour = '1F5FA8'

type Child = Docx.ParagraphChild

/** The parts of a paragraph. Texts from right to left are marked, because Word does not detect their direction. */
export async function paragraphChildren(content: readonly Inline[], look: Look, context: DocxContext): Promise<readonly Child[]> {
  const children: Child[] = []
  for (const part of content) children.push(...(await partChildren(part, look, context)))
  return children
}

async function partChildren(part: Inline, look: Look, context: DocxContext): Promise<readonly Child[]> {
  const { docx } = context
  switch (part.kind) {
    case 'break':
      return [new docx.TextRun({ break: 1 })]
    case 'citation':
      return context.citations.of(part.sids).map((source) => new docx.FootnoteReferenceRun(context.addFootnote(source)))
    case 'image': {
      const image = await context.images.read(part.image)
      return [
        image
          ? picture(image, part.image.alt, context, context.width)
          : new docx.TextRun({ text: missingText(part.image.alt), italics: true }),
      ]
    }
    case 'text':
      return [textChild(part, look, context)]
    default:
      return part satisfies never
  }
}

/** The text in place of an image that can not be shown. */
export const missingText = (alt: string): string => (alt === '' ? '[image]' : `[image: ${alt}]`)

function textChild(part: Extract<Inline, { kind: 'text' }>, look: Look, { docx }: DocxContext): Child {
  const address = linkAddress(part.link)
  const isAnchor = part.link?.startsWith('#') === true && part.link.length > 1
  const isLink = address !== undefined || isAnchor
  const colour = part.colour ?? (isLink ? linkColour : look.colour)
  const size = part.size ?? look.size
  const run = new docx.TextRun({
    text: part.text,
    ...(part.bold && { bold: true }),
    ...(part.italic && { italics: true }),
    ...(part.strike && { strike: true }),
    ...((part.underline || isLink) && { underline: {} }),
    ...(part.position === 'super' && { superScript: true }),
    ...(part.position === 'sub' && { subScript: true }),
    ...(part.code && { font: codeFont, shading: { type: docx.ShadingType.CLEAR, fill: 'F2F4F7' } }),
    ...(colour !== undefined && { color: colour }),
    ...(size !== undefined && { size: Math.round(size * 2) }),
    ...(isRightToLeft(part.text) && { rightToLeft: true }),
  })
  if (address !== undefined) return new docx.ExternalHyperlink({ link: address, children: [run] })
  return isAnchor ? new docx.InternalHyperlink({ anchor: anchorName(part.link ?? ''), children: [run] }) : run
}

/** The name of a bookmark for an anchor. Word allows letters, digits and `_`, at most 40 characters. */
export const anchorName = (anchor: string): string => `a_${anchor.replace(/^#/, '').replace(/[^\p{L}\p{N}]/gu, '_')}`.slice(0, 40)

/** The options of a paragraph that follow from its look and the direction of its text. */
export function paragraphOptions(content: readonly Inline[], look: Look, { docx }: Pick<DocxContext, 'docx'>) {
  const bidirectional = look.direction === 'rtl' || (look.direction === undefined && isRightToLeft(plainText(content)))
  // In a paragraph from right to left, Word calls the right side `start`.
  const alignment =
    look.align === undefined
      ? undefined
      : docx.AlignmentType[look.align === 'center' ? 'CENTER' : look.align === 'right' ? 'RIGHT' : 'LEFT']
  return { ...(bidirectional && { bidirectional }), ...(alignment !== undefined && { alignment }) }
}
