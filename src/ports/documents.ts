/** Reads documents that are not plain text. Hostile input: limits are the caller's, failures are `document.unreadable`. */
export interface DocumentReader {
  pdf(bytes: Uint8Array, options?: { readonly maxPages?: number }): Promise<PdfText>
}

export interface PdfText {
  readonly pages: number
  /** The text of each page that was read, in order. */
  readonly text: readonly string[]
}
