/* The structure of a document. Word documents, presentations and Typst documents are made from it. */

/** A part of a document that takes the whole width between the margins. */
export type DocumentBlock =
  | { readonly kind: 'heading'; readonly level: number; readonly content: readonly Inline[]; readonly anchor?: string; readonly look: Look }
  | { readonly kind: 'paragraph'; readonly content: readonly Inline[]; readonly look: Look }
  | { readonly kind: 'list'; readonly ordered: boolean; readonly start: number; readonly items: readonly (readonly DocumentBlock[])[] }
  | { readonly kind: 'table'; readonly rows: readonly TableRow[]; readonly caption: readonly Inline[] }
  | { readonly kind: 'chart'; readonly chart: Chart }
  | { readonly kind: 'code'; readonly text: string; readonly language: string }
  | { readonly kind: 'diagram'; readonly source: string }
  | { readonly kind: 'quote'; readonly blocks: readonly DocumentBlock[] }
  | { readonly kind: 'callout'; readonly blocks: readonly DocumentBlock[]; readonly look: Look }
  | { readonly kind: 'columns'; readonly columns: readonly (readonly DocumentBlock[])[] }
  | { readonly kind: 'image'; readonly image: DocumentImage; readonly caption: readonly Inline[] }
  | { readonly kind: 'rule' }
  | { readonly kind: 'notes'; readonly text: string }
  | { readonly kind: 'slide'; readonly blocks: readonly DocumentBlock[]; readonly look: Look }

/** A part of a line. */
export type Inline =
  | ({ readonly kind: 'text'; readonly text: string } & TextStyle)
  | { readonly kind: 'break' }
  /** A citation of these sources, by SID. */
  | { readonly kind: 'citation'; readonly sids: readonly number[] }
  | { readonly kind: 'image'; readonly image: DocumentImage }

/** How a text looks. */
export interface TextStyle {
  readonly bold?: true
  readonly italic?: true
  readonly code?: true
  readonly strike?: true
  readonly underline?: true
  readonly position?: 'super' | 'sub'
  /** The address of a link, as it is written. */
  readonly link?: string
  /** Six hex digits. */
  readonly colour?: string
  /** In points. */
  readonly size?: number
}

/** How a block looks, according to its attributes `style`, `align` and `dir`. */
export interface Look {
  readonly align?: 'left' | 'center' | 'right'
  readonly colour?: string
  readonly background?: string
  readonly size?: number
  /** Set when the author gave the direction. Otherwise the direction follows from the text (`isRightToLeft`). */
  readonly direction?: 'ltr' | 'rtl'
}

export interface TableRow {
  readonly header: boolean
  readonly cells: readonly TableCell[]
}

export interface TableCell {
  readonly header: boolean
  readonly blocks: readonly DocumentBlock[]
  readonly columns: number
  readonly rows: number
  readonly look: Look
}

/** An image of a file. Sizes are in pixels of the page. */
export interface DocumentImage {
  readonly address: string
  readonly alt: string
  readonly width?: number
  readonly height?: number
}

/** A chart that is drawn from a table. The first column has the labels, and each further column is a series. */
export interface Chart {
  readonly type: ChartType
  readonly title: string
  readonly labels: readonly string[]
  readonly series: readonly { readonly name: string; readonly values: readonly number[] }[]
}

export const chartTypes = ['bar', 'line', 'pie'] as const
export type ChartType = (typeof chartTypes)[number]

/** The plain text of inline parts. */
export const plainText = (content: readonly Inline[]): string =>
  content.map((part) => (part.kind === 'text' ? part.text : part.kind === 'break' ? '\n' : '')).join('')

/** Whether a text is written from right to left, as Hebrew and Arabic are. Its first letter decides, as in HTML with `dir="auto"`. */
export function isRightToLeft(text: string): boolean {
  const letter = /\p{L}/u.exec(text)?.[0]
  return letter !== undefined && /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(letter)
}

/** The images of blocks, including those in lines of text. */
export function* imagesOf(blocks: readonly DocumentBlock[]): Iterable<DocumentImage> {
  const ofInlines = (content: readonly Inline[]) => content.flatMap((part) => (part.kind === 'image' ? [part.image] : []))
  for (const block of allBlocks(blocks)) {
    if (block.kind === 'image') yield block.image
    if ('content' in block) yield* ofInlines(block.content)
    if ('caption' in block) yield* ofInlines(block.caption)
  }
}

/** The blocks and all blocks inside of them. */
export function* allBlocks(blocks: readonly DocumentBlock[]): Iterable<DocumentBlock> {
  for (const block of blocks) {
    yield block
    yield* allBlocks(blocksInside(block))
  }
}

function blocksInside(block: DocumentBlock): readonly DocumentBlock[] {
  if ('blocks' in block) return block.blocks
  if (block.kind === 'list') return block.items.flat()
  if (block.kind === 'columns') return block.columns.flat()
  return block.kind === 'table' ? block.rows.flatMap(({ cells }) => cells.flatMap((cell) => cell.blocks)) : []
}
