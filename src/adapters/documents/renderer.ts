import { findPackageJSON } from 'node:module'
import type { DocumentKind, DocumentRenderer } from '../../ports/documents.ts'
import { renderDocx } from './office/docx.ts'
import { renderPptx } from './office/pptx.ts'
import { findMentions } from './structure/mentions.ts'
import { unrenderable } from './structure/packages.ts'

/** The packages that each kind of document needs, besides those that read the content. */
const packages: Readonly<Record<'docx' | 'pptx', string>> = { docx: 'docx', pptx: 'pptxgenjs' }

/**
 * Makes documents. Word documents and presentations are made with packages. The kinds whose packages are not installed are not offered.
 */
export function createDocumentRenderer(): DocumentRenderer {
  const readers = ['markdown-it', 'htmlparser2', 'fflate'].every(isInstalled)
  const kinds = new Set<DocumentKind>((['docx', 'pptx'] as const).filter((kind) => readers && isInstalled(packages[kind])))
  let closed = false
  return {
    kinds,
    mentions: findMentions,
    async render(request) {
      if (closed) throw unrenderable('unavailable', 'the renderer is closed')
      switch (request.kind) {
        case 'docx':
          return renderDocx(request, async () => undefined)
        case 'pptx':
          return renderPptx(request, async () => undefined)
        default:
          throw unrenderable('unavailable', `${request.kind.toUpperCase()} files can not be made on this machine`)
      }
    },
    async close() {
      closed = true
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
