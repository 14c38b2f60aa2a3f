// The package `daybook/adapters/documents`: the text of PDF files.

export { createPdfReader, type PdfReader } from './pdf.ts'
