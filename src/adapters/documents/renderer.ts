import { findPackageJSON } from 'node:module'
import type { DocumentKind, DocumentRenderer, RenderRequest } from '../../ports/documents.ts'
import { type BrowserLimits, createBrowserRenderer, defaultBrowserLimits } from './browser/browser-renderer.ts'
import { findBrowser } from './browser/find-browser.ts'
import { defaultPicture } from './browser/png.ts'
import { renderDocx } from './office/docx.ts'
import { type OfficeImage, parseImage } from './office/images.ts'
import { renderPptx } from './office/pptx.ts'
import { findMentions } from './structure/mentions.ts'
import { unrenderable } from './structure/packages.ts'
import { createTypstRenderer, typstPackage } from './typst/typst-renderer.ts'

/** Options of `createDocumentRenderer`. */
export interface RendererOptions {
  /**
   * The browser that makes PDF and PNG files: a path, or the name of a program. By default Chromium or Chrome is used, if the system has
   * it. With false, no browser is started, and PDF files are made without one.
   */
  readonly browser?: string | false
  readonly limits?: Partial<BrowserLimits>
}

/** The packages that each kind of document needs, besides those that read the content. */
const packages: { readonly [K in DocumentKind]: string } = {
  docx: 'docx',
  pptx: 'pptxgenjs',
  pdf: 'playwright-core',
  png: 'playwright-core',
}

/**
 * Makes documents: Word documents and presentations with packages, PDF and PNG files with a browser. Without a browser, PDF files are made
 * with Typst. The kinds for which the machine lacks something are not in `kinds`.
 */
export function createDocumentRenderer({ browser: wanted, limits }: RendererOptions = {}): DocumentRenderer {
  const readers = ['markdown-it', 'htmlparser2', 'fflate'].every(isInstalled)
  const executable = wanted === false ? undefined : findBrowser(wanted)
  const hasTypst = isInstalled(typstPackage)
  const isPossible = (kind: DocumentKind) => {
    if (kind === 'pdf' && hasTypst) return readers
    return readers && isInstalled(packages[kind]) && (kind === 'docx' || kind === 'pptx' || executable !== undefined)
  }
  const kinds = new Set<DocumentKind>((['pdf', 'png', 'docx', 'pptx'] as const).filter(isPossible))
  const allLimits = { ...defaultBrowserLimits, ...limits }
  const browser = executable === undefined || !isInstalled('playwright-core') ? undefined : createBrowserRenderer(executable, allLimits)
  const typst = browser === undefined && hasTypst ? createTypstRenderer(allLimits) : undefined
  let closed = false

  /** Draws a diagram for a Word document or a presentation. Undefined when there is no browser, or the diagram has an error. */
  const drawDiagram =
    (request: RenderRequest) =>
    async (source: string): Promise<OfficeImage | undefined> => {
      if (!browser || !kinds.has('png')) return undefined
      const scale = 2
      const picture = { ...defaultPicture, padding: 4, scale }
      try {
        const { bytes } = await browser.render({ ...request, kind: 'png', format: 'mermaid', content: source, sources: [], picture })
        const image = parseImage(bytes)
        return image && { ...image, width: image.width / scale, height: image.height / scale }
      } catch (error) {
        if ((error as { details?: { reason?: unknown } }).details?.reason === 'content') return undefined // its text is shown
        throw error
      }
    }

  return {
    kinds,
    mentions: findMentions,
    async render(request) {
      if (closed) throw unrenderable('unavailable', 'the renderer is closed')
      switch (request.kind) {
        case 'docx':
          return renderDocx(request, drawDiagram(request))
        case 'pptx':
          return renderPptx(request, drawDiagram(request))
        case 'pdf':
          if (typst) return typst.render(request)
          if (!browser) throw unrenderable('unavailable', missingBrowser(request.kind))
          return browser.render(request)
        case 'png':
          if (!browser) throw unrenderable('unavailable', missingBrowser(request.kind))
          return browser.render(request)
        default:
          return request.kind satisfies never
      }
    },
    async close() {
      closed = true
      await Promise.all([browser?.close(), typst?.close()])
    },
  }
}

const missingBrowser = (kind: DocumentKind) =>
  `${kind.toUpperCase()} files need a browser, and none was found: install Chromium (on Debian: apt-get install chromium)`

/** Whether a package is installed. Nothing of it is loaded. */
export function isInstalled(name: string): boolean {
  try {
    return findPackageJSON(name, import.meta.url) !== undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return false
    throw error
  }
}
