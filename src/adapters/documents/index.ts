// The package `daybook/adapters/documents`: reads PDF files and web pages, and makes PDF, PNG, Word and PowerPoint files.

export type * from '../../ports/documents.ts'
export type { BrowserLimits } from './browser/browser-renderer.ts'
export { createPageReader, type ThreadedPageReader } from './page/reader.ts'
export { createPdfReader, type PdfReader } from './pdf.ts'
export { createDocumentRenderer, type RendererOptions } from './renderer.ts'
