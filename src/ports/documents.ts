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
  /** The user whose document it is, as `userKey` returns it. A reader may let users take turns. */
  readonly user?: string
}

/** The text of a PDF, and how many pages the PDF has. With `maxPages`, `text` may have fewer items than the PDF has pages. */
export interface PdfText {
  readonly pages: number
  /** The text of each page that was read, in order. */
  readonly text: readonly string[]
}
