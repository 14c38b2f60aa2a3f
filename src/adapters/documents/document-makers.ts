import type { DocumentKind, DocumentRenderer, RenderRequest } from '../../ports/documents.ts'
import { type BrowserLimits, type BrowserRenderer, createBrowserRenderer, defaultBrowserLimits } from './browser/browser-renderer.ts'
import { defaultPicture } from './browser/png.ts'
import { createContentThreads } from './content/content-threads.ts'
import { type OfficeImage, parseImage } from './office/images.ts'
import { unrenderable } from './structure/packages.ts'
import { createTypstRenderer } from './typst/typst-renderer.ts'

/** The functions of a `DocumentRenderer` that make documents. */
export type DocumentMakers = Pick<DocumentRenderer, 'mentions' | 'render' | 'close'>

interface MakerOptions {
  /** The path of the browser, if there is one that can be used. */
  readonly browser: string | undefined
  readonly hasTypst: boolean
  readonly kinds: ReadonlySet<DocumentKind>
  readonly limits: Partial<BrowserLimits>
}

/** Creates the functions that make documents. A browser or a thread is started when a document first needs it. */
export function createDocumentMakers({ browser: executable, hasTypst, kinds, limits }: MakerOptions): DocumentMakers {
  const allLimits = { ...defaultBrowserLimits, ...limits }
  const browser = executable === undefined ? undefined : createBrowserRenderer(executable, allLimits)
  const typst = browser === undefined && hasTypst ? createTypstRenderer(allLimits) : undefined
  const contents = createContentThreads(allLimits)

  const renderPage = async (renderer: BrowserRenderer, request: RenderRequest) =>
    renderer.render({ ...request, document: await contents.page(request) })

  /** Draws a diagram for a Word document or a presentation. Undefined when there is no browser, or the diagram has an error. */
  const drawDiagram =
    (request: RenderRequest) =>
    async (source: string): Promise<OfficeImage | undefined> => {
      if (!browser || !kinds.has('png')) return undefined
      const scale = 2
      const picture = { ...defaultPicture, padding: 4, scale }
      try {
        const diagram = { ...request, kind: 'png', format: 'mermaid', content: source, sources: [], picture } as const
        const { bytes } = await renderPage(browser, diagram)
        const image = parseImage(bytes)
        return image && { ...image, width: image.width / scale, height: image.height / scale }
      } catch (error) {
        // the document shows the source of the diagram
        if ((error as { details?: { reason?: unknown } }).details?.reason === 'content') return undefined
        throw error
      }
    }

  return {
    mentions: contents.mentions,
    async render(request) {
      switch (request.kind) {
        case 'docx':
        case 'pptx':
          return contents.office(request, drawDiagram(request))
        case 'pdf':
          if (typst) return typst.render(request)
          if (!browser) throw unrenderable('unavailable', missingBrowser(request.kind))
          return renderPage(browser, request)
        case 'png':
          if (!browser) throw unrenderable('unavailable', missingBrowser(request.kind))
          return renderPage(browser, request)
        default:
          return request.kind satisfies never
      }
    },
    async close() {
      await Promise.all([browser?.close(), typst?.close(), contents.close()])
    },
  }
}

const missingBrowser = (kind: DocumentKind) =>
  `${kind.toUpperCase()} files need a browser, and none was found: install Chromium (on Debian: apt-get install chromium)`
