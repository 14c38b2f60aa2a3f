/**
 * Extracts text from documents, which may be hostile. The caller limits the size of a document. Throws `document.unreadable` when a
 * document can not be read.
 */
export interface DocumentReader {
  pdf(bytes: Uint8Array, options?: PdfOptions): Promise<PdfText>
}

/** Options of `DocumentReader.pdf`. */
export interface PdfOptions {
  readonly maxPages?: number
  /** The user who owns the document, as `userKey` returns it. A reader may use it to share its capacity fairly between users. */
  readonly user?: string
}

/** The text of a PDF, and how many pages the PDF has. With `maxPages`, `text` may have fewer items than the PDF has pages. */
export interface PdfText {
  readonly pages: number
  /** The text of each page that was read, in order. */
  readonly text: readonly string[]
}

/** The formats of the files that `DocumentRenderer` makes. */
export type DocumentKind = 'pdf' | 'png' | 'docx' | 'pptx'

/** The language in which the content of a document is written. */
export type ContentFormat = 'markdown' | 'html' | 'mermaid'

/**
 * Makes documents from text that a model wrote. The text may be hostile. Scripts and addresses in it can not reach the network, and can
 * load only files that `readAsset` returns. The same request gives the same bytes on the same machine. Throws `document.unrenderable` with
 * a `RenderProblem` in `details.reason` when a document can not be made.
 */
export interface DocumentRenderer {
  /** The kinds of documents that can be made on this machine. Other kinds fail with the reason `unavailable`. */
  readonly kinds: ReadonlySet<DocumentKind>
  /**
   * The addresses of files that the content names: images, style sheets and links. Each address is returned once, in the same spelling as
   * in the content. Web addresses are left out.
   */
  mentions(content: string, format: ContentFormat, options?: Pick<RenderRequest, 'user' | 'signal'>): Promise<readonly string[]>
  render(request: RenderRequest): Promise<RenderedDocument>
  /** Ends the programs that the renderer has started. A later `render` fails. */
  close(): Promise<void>
}

/** Why a document could not be made. `content` means that the content has an error, such as wrong syntax in a diagram. */
export type RenderProblem = 'content' | 'timeout' | 'memory' | 'too_large' | 'cancelled' | 'unavailable' | 'failed'

/** A document to make. */
export interface RenderRequest {
  readonly kind: DocumentKind
  readonly format: ContentFormat
  /**
   * The content. Its citations are elements `<sup class="cite" data-sids="1,3"></sup>`. The numbers are SIDs of `sources`.
   */
  readonly content: string
  readonly title?: string
  /** The sources that the content cites, in the order of their first citation. */
  readonly sources: readonly DocumentSource[]
  /** Whether the document ends with a list of the sources. */
  readonly listSources: boolean
  readonly landscape?: boolean
  /** Only for `png`. */
  readonly picture?: PictureOptions
  /** The time that the document and its scripts get as the current time, in ISO 8601. */
  readonly now: string
  /** The user who owns the document, as `userKey` returns it. A renderer may use it to share its capacity fairly between users. */
  readonly user?: string
  readonly signal?: AbortSignal
  /**
   * The bytes of a file that the content uses. Undefined when there is no such file. The path is relative and has the same spelling as in
   * the content.
   */
  readAsset(path: string): Promise<Uint8Array | undefined>
}

/** A source that a document cites. */
export interface DocumentSource {
  readonly sid: number
  readonly title: string
  /** The web address. Undefined for a file of the conversation. */
  readonly url?: string
  /** The file of the conversation, for `readAsset`. */
  readonly path?: string
}

/** How a `png` document is drawn. */
export interface PictureOptions {
  /** The folder below OUT_DIR to which relative addresses in the content refer. */
  readonly baseFolder?: string
  /** How many milliseconds scripts may run before the picture is taken. */
  readonly delayMs: number
  /** `content`: the picture is cut to the visible elements. `page`: it shows the page. */
  readonly fit: 'content' | 'page'
  /** The element to cut to, as a CSS selector. */
  readonly selector?: string
  /** The empty space around the content, in pixels of the page. */
  readonly padding: number
  readonly zoom?: number
  /** A CSS colour, or `transparent`. */
  readonly background: string
  /** Whether the picture shows the whole page, and not only the part in the window. */
  readonly fullPage: boolean
  /** The size of the window, in pixels of the page. */
  readonly width: number
  readonly height: number
  /** The scale of the picture: the width of one pixel of the page, in pixels of the picture. */
  readonly scale: number
  readonly mermaid: MermaidOptions
}

/** How diagrams are drawn. */
export interface MermaidOptions {
  readonly theme?: string
  readonly config?: Readonly<Record<string, unknown>>
  readonly themeVariables?: Readonly<Record<string, unknown>>
  readonly fontSize?: number
  readonly fontFamily?: string
  readonly scale?: number
}

/** A document that was made. */
export interface RenderedDocument {
  readonly bytes: Uint8Array
  /** How many pages or slides it has. Undefined for pictures and Word documents. */
  readonly pages?: number
  /** One sentence for each problem that the author should know about, such as a file that does not exist or an empty page. */
  readonly remarks: readonly string[]
}
