import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createPageReader } from '../../src/adapters/documents/page/reader.ts'
import { createPdfReader } from '../../src/adapters/documents/pdf.ts'
import { type FolderKnowledge, type KnowledgeOptions, openKnowledge } from '../../src/adapters/knowledge/knowledge.ts'
import { parseYaml } from '../../src/adapters/skills/yaml.ts'
import { localScope } from '../../src/core/scope.ts'
import type { DocumentReader } from '../../src/ports/documents.ts'
import type { KnowledgeQuery } from '../../src/ports/knowledge.ts'

interface OpenOptions extends Partial<KnowledgeOptions> {
  /** A reader of PDF documents that replaces the usual reader. */
  readonly documents?: DocumentReader
}

/** A temporary folder with a knowledge base: its documents are in `docs`, its index is the file `index.db`. */
export function createKnowledgeFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'knowledge-'))
  const docs = join(folder, 'docs')
  mkdirSync(docs)
  const closers: (() => Promise<void>)[] = []

  function write(files: Readonly<Record<string, string | Uint8Array>>): void {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(docs, path)), { recursive: true })
      writeFileSync(join(docs, path), content)
    }
  }

  /** Opens the knowledge base. Because its index is a file, a knowledge base that is opened later finds it. */
  function open({ documents, ...options }: OpenOptions = {}): FolderKnowledge {
    const pdfs = createPdfReader({ timeoutMs: 60_000 })
    const pages = createPageReader({ timeoutMs: 60_000 })
    const knowledge = openKnowledge({
      folders: [{ name: 'docs', path: docs }],
      index: join(folder, 'index.db'),
      readers: { documents: documents ?? pdfs, pages: async () => pages, yaml: parseYaml },
      waitMs: 120_000,
      ...options,
    })
    closers.push(knowledge.close, pdfs.close, pages.close)
    return knowledge
  }

  /** Closes the knowledge bases that are open, with their readers. */
  async function close(): Promise<void> {
    for (const closer of closers.splice(0)) await closer()
  }

  async function remove(): Promise<void> {
    await close()
    rmSync(folder, { recursive: true, force: true })
  }

  return { folder, docs, write, open, close, remove }
}

export const knowledgeCall = { scope: localScope, signal: new AbortController().signal }

export const knowledgeQuery = (text: string, more: Partial<KnowledgeQuery> = {}): KnowledgeQuery => ({
  query: text,
  root: 'ks:',
  maxHits: 5,
  keywords: [],
  ...more,
})
