import { parentPort } from 'node:worker_threads'
import { Failure } from '../../../core/failure.ts'
import type { ContentFormat, RenderedDocument, RenderProblem, RenderRequest } from '../../../ports/documents.ts'
import { type DocumentPage, documentPage } from '../browser/page-html.ts'
import { renderDocx } from '../office/docx.ts'
import type { OfficeImage } from '../office/images.ts'
import { renderPptx } from '../office/pptx.ts'
import { allBlocks, imagesOf } from '../structure/document.ts'
import { findMentions } from '../structure/mentions.ts'
import { readDocument } from '../structure/read-document.ts'

/* The worker thread of `content-threads.ts`. It reads the content of one document at a time, and makes Word documents and presentations. */

/** The parts of a request that can be sent to a thread. */
export type SentRequest = Omit<RenderRequest, 'readAsset' | 'signal' | 'picture' | 'user'>

export type ContentRequest =
  | { readonly step: 'mentions'; readonly content: string; readonly format: ContentFormat }
  | { readonly step: 'page'; readonly request: SentRequest }
  | { readonly step: 'pictures'; readonly request: SentRequest }
  | { readonly step: 'office'; readonly request: SentRequest; readonly pictures: Pictures }

/** The pictures of an office document: the bytes of images by address, and diagrams by their source. Missing pictures are left out. */
export interface Pictures {
  readonly images: ReadonlyMap<string, Uint8Array>
  readonly diagrams: ReadonlyMap<string, OfficeImage>
}

/** The pictures that an office document needs: the addresses of images, and the sources of diagrams. */
export interface NeededPictures {
  readonly images: readonly string[]
  readonly diagrams: readonly string[]
}

/** The result of each step, by the name of the step. */
export interface ContentResults {
  readonly mentions: readonly string[]
  readonly page: DocumentPage
  readonly pictures: NeededPictures
  readonly office: RenderedDocument
}

export type ContentResponse =
  | { readonly ok: true; readonly result: ContentResults[keyof ContentResults] }
  | { readonly ok: false; readonly reason: RenderProblem; readonly message: string }

function take(request: ContentRequest): Promise<ContentResults[keyof ContentResults]> {
  switch (request.step) {
    case 'mentions':
      return findMentions(request.content, request.format)
    case 'page':
      return documentPage(request.request)
    case 'pictures':
      return findPictures(request.request)
    case 'office':
      return makeOffice(request.request, request.pictures)
    default:
      return request satisfies never
  }
}

async function findPictures({ content, format }: SentRequest): Promise<NeededPictures> {
  const blocks = await readDocument(content, format === 'html' ? 'html' : 'markdown')
  const images = [...imagesOf(blocks)].map(({ address }) => address)
  const diagrams = [...allBlocks(blocks)].flatMap((block) => (block.kind === 'diagram' ? [block.source] : []))
  return { images: [...new Set(images)], diagrams: [...new Set(diagrams)] }
}

function makeOffice(sent: SentRequest, { images, diagrams }: Pictures): Promise<RenderedDocument> {
  const request = { ...sent, readAsset: async (address: string) => images.get(address) }
  const drawDiagram = async (source: string) => diagrams.get(source)
  return sent.kind === 'pptx' ? renderPptx(request, drawDiagram) : renderDocx(request, drawDiagram)
}

function problemOf(error: unknown): ContentResponse {
  if (error instanceof Failure) return { ok: false, reason: error.details.reason as RenderProblem, message: error.message }
  if (error instanceof RangeError) return { ok: false, reason: 'too_large', message: 'The document has too many parts. Make it shorter.' }
  return { ok: false, reason: 'failed', message: `The document could not be made: ${error instanceof Error ? error.message : error}` }
}

parentPort?.on('message', (request: ContentRequest) => {
  void take(request)
    .then((result): ContentResponse => ({ ok: true, result }), problemOf)
    .then((response) => parentPort?.postMessage(response))
})
