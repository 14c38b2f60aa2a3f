/** Extracts text from documents, which may be hostile. The caller limits their size. Every failure is a `document.unreadable`. */
export interface DocumentReader {
  pdf(bytes: Uint8Array, options?: { readonly maxPages?: number }): Promise<PdfText>
}

/** The text of a PDF. */
export interface PdfText {
  readonly pages: number
  /** The text of each page that was read, in order. */
  readonly text: readonly string[]
}
