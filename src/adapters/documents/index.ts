// The package `daybook/adapters/documents`: reads PDF files, and makes PDF, PNG, Word and PowerPoint files.

export type * from '../../ports/documents.ts'
export type { BrowserLimits } from './browser/browser-renderer.ts'
export { createPdfReader, type PdfReader } from './pdf.ts'
export { createDocumentRenderer, type RendererOptions } from './renderer.ts'
