import { findPackageJSON } from 'node:module'
import type { DocumentKind, DocumentRenderer } from '../../ports/documents.ts'
import type { BrowserLimits } from './browser/browser-renderer.ts'
import { findBrowser } from './browser/find-browser.ts'
import type { DocumentMakers } from './document-makers.ts'
import { unrenderable } from './structure/packages.ts'

/** Options of `createDocumentRenderer`. */
export interface RendererOptions {
  /**
   * The browser that makes PDF and PNG files: a path, or the name of a program. By default Chromium or Chrome is used, if the system has
   * it. With false, no browser is started: PDF files are made with Typst, and PNG files can not be made.
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

const readerPackages = ['markdown-it', 'htmlparser2', 'fflate']
const typstPackage = '@myriaddreamin/typst-ts-node-compiler'

/** What this machine lacks to make documents. */
export interface MissingParts {
  readonly packages: readonly string[]
  readonly browser: boolean
}

/** What this machine lacks to make a document of this kind. `executable` is the browser that was found. */
function missingParts(kind: DocumentKind, executable: string | undefined): MissingParts {
  const needsBrowser = kind === 'png' || (kind === 'pdf' && !isInstalled(typstPackage))
  const needed = kind === 'pdf' && !needsBrowser ? readerPackages : [...readerPackages, packages[kind]]
  return { packages: needed.filter((name) => !isInstalled(name)), browser: needsBrowser && executable === undefined }
}

/** What this machine lacks to make documents of all these kinds. */
export function missingForDocuments(kinds: readonly DocumentKind[], browser: RendererOptions['browser']): MissingParts {
  const executable = browser === false ? undefined : findBrowser(browser)
  const parts = kinds.map((kind) => missingParts(kind, executable))
  return { packages: [...new Set(parts.flatMap((each) => each.packages))], browser: parts.some((each) => each.browser) }
}

/**
 * Makes documents: Word documents and presentations with packages, PDF and PNG files with a browser. Without a browser, PDF files are made
 * with Typst. The kinds for which the machine lacks something are not in `kinds`. The code that makes documents is loaded with the first
 * document, because most agents make none.
 */
export function createDocumentRenderer({ browser: wanted, limits = {} }: RendererOptions = {}): DocumentRenderer {
  const executable = wanted === false ? undefined : findBrowser(wanted)
  const hasTypst = isInstalled(typstPackage)
  const isPossible = (kind: DocumentKind) => {
    const missing = missingParts(kind, executable)
    return missing.packages.length === 0 && !missing.browser
  }
  const kinds = new Set<DocumentKind>((['pdf', 'png', 'docx', 'pptx'] as const).filter(isPossible))
  const browser = isInstalled('playwright-core') ? executable : undefined
  let closed = false
  let loaded: Promise<DocumentMakers> | undefined
  const makers = () => {
    loaded ??= import('./document-makers.ts').then(({ createDocumentMakers }) => createDocumentMakers({ browser, hasTypst, kinds, limits }))
    return loaded
  }

  return {
    kinds,
    mentions: async (content, format, options) => (await makers()).mentions(content, format, options),
    async render(request) {
      if (closed) throw unrenderable('unavailable', 'the renderer is closed')
      return (await makers()).render(request)
    },
    async close() {
      closed = true
      await (await loaded)?.close()
    },
  }
}

/** Whether a package is installed. Nothing of it is loaded. */
export function isInstalled(name: string): boolean {
  try {
    return findPackageJSON(name, import.meta.url) !== undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return false
    throw error
  }
}
