import type { DocumentRenderer, RenderedDocument, RenderRequest } from '../../../ports/documents.ts'
import type { DocumentPage } from '../browser/page-html.ts'
import type { DrawDiagram } from '../office/docx.ts'
import type { OfficeImage } from '../office/images.ts'
import { createReaderThreads, type ThreadProblem, threadFile } from '../reader-threads.ts'
import { unrenderable } from '../structure/packages.ts'
import type { ContentRequest, ContentResponse, ContentResults, NeededPictures, SentRequest } from './content-thread.ts'

/**
 * Reads the content of documents, and makes Word documents and presentations. Processing hostile content of a few megabytes can take
 * minutes and gigabytes of memory, so all of this happens in threads. A thread that takes too long or needs too much memory is ended.
 */
export interface ContentThreads {
  readonly mentions: DocumentRenderer['mentions']
  /** The page that a browser shows for a document. */
  page(request: RenderRequest): Promise<DocumentPage>
  /** Makes a Word document or a presentation. */
  office(request: RenderRequest, drawDiagram: DrawDiagram): Promise<RenderedDocument>
  close(): Promise<void>
}

/** Creates the threads. A thread starts when a document needs it, and ends after `idleMs` without a document. */
export function createContentThreads({ timeoutMs, idleMs }: { readonly timeoutMs: number; readonly idleMs: number }): ContentThreads {
  const threads = createReaderThreads<ContentRequest, ContentResponse>({
    file: threadFile(import.meta.url, 'content/content-thread'),
    timeoutMs,
    idleMs,
    threads: 2,
    failure(problem) {
      const [reason, message] = problems(timeoutMs)[problem]
      return unrenderable(reason, message)
    },
  })

  async function take<R extends ContentRequest>(request: R, user = '', signal?: AbortSignal): Promise<ContentResults[R['step']]> {
    const response = await threads.read(user, request, signal)
    if (!response.ok) throw unrenderable(response.reason, response.message)
    return response.result as ContentResults[R['step']] // the result has the type that belongs to the step of the request
  }

  return {
    async mentions(content, format, { user, signal } = {}) {
      return format === 'mermaid' ? [] : take({ step: 'mentions', content, format }, user, signal)
    },
    page: (request) => take({ step: 'page', request: sent(request) }, request.user, request.signal),
    async office(request, drawDiagram) {
      const needed = await take({ step: 'pictures', request: sent(request) }, request.user, request.signal)
      const pictures = await loadPictures(needed, request, drawDiagram)
      return take({ step: 'office', request: sent(request), pictures }, request.user, request.signal)
    },
    close: threads.close,
  }
}

const problems = (timeoutMs: number) =>
  ({
    too_slow: ['timeout', `The document was not ready after ${Math.round(timeoutMs / 1_000)} seconds. Make it shorter.`],
    out_of_memory: ['memory', 'The document needs too much memory. Make it shorter.'],
    cancelled: ['cancelled', 'The call was cancelled.'],
    reader_closed: ['unavailable', 'the renderer is closed'],
  }) as const satisfies Record<ThreadProblem, readonly [string, string]>

const sent = ({ kind, format, content, title, sources, listSources, landscape, now }: RenderRequest): SentRequest => ({
  kind,
  format,
  content,
  sources,
  listSources,
  now,
  ...(title !== undefined && { title }),
  ...(landscape !== undefined && { landscape }),
})

/** Loads the files and draws the diagrams that a document shows. */
async function loadPictures({ images, diagrams }: NeededPictures, { readAsset }: RenderRequest, drawDiagram: DrawDiagram) {
  const loaded = new Map<string, Uint8Array>()
  for (const address of images) {
    if (URL.canParse(address) && !address.toLowerCase().startsWith('fi:')) continue // an embedded image, or an image on the web
    const bytes = await readAsset(address)
    // a copy, because `bytes` may be a part of a larger buffer, and a message to the thread would copy the whole buffer
    if (bytes) loaded.set(address, Uint8Array.from(bytes))
  }
  const drawn = new Map<string, OfficeImage>()
  for (const source of diagrams) {
    const image = await drawDiagram(source)
    if (image) drawn.set(source, { ...image, bytes: Uint8Array.from(image.bytes) })
  }
  return { images: loaded, diagrams: drawn }
}
