import { createDocumentRenderer, type MissingParts, missingForDocuments, type RendererOptions } from '../adapters/documents/renderer.ts'
import type { Settings } from '../config/settings.ts'
import type { DocumentKind, DocumentRenderer } from '../ports/documents.ts'

type BrowserSettings = Partial<Pick<Settings, 'browser'>>

const browserOption = ({ browser }: BrowserSettings): RendererOptions =>
  browser === undefined ? {} : { browser: browser === 'none' ? false : browser }

/** Opens the renderer that the settings describe. No browser is started before the first document. */
export const openRenderer = (settings: BrowserSettings): DocumentRenderer => createDocumentRenderer(browserOption(settings))

/** What this machine lacks to make documents of these kinds. */
export const missingForRenderer = (settings: BrowserSettings, kinds: readonly DocumentKind[]): MissingParts =>
  missingForDocuments(kinds, browserOption(settings).browser)
