import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { errorMessage } from '../../core/failure.ts'
import { termsOf } from '../../core/recall/terms.ts'
import { type FolderFile, fileAt, type KnowledgeFolder, type LeftOut, listFolder, readFileBelow } from './folder.ts'
import type { FileState, IndexedContent, KnowledgeIndex, SectionTerms } from './index-file.ts'
import { type DocumentReaders, type KnowledgeDocument, maxFileBytes, readDocument, sizeProblem } from './read-document.ts'

/** The progress of an update of the index. */
export interface IndexProgress {
  readonly done: number
  readonly total: number
}

/** What an update of the index has done. */
export interface IndexReport {
  readonly documents: number
  /** How many files were read because they are new or changed. */
  readonly indexed: number
  readonly removed: number
  /** Files that are left out, and other problems. Paths are relative to the knowledge base. */
  readonly problems: readonly LeftOut[]
}

interface IndexerParts {
  readonly index: KnowledgeIndex
  readonly readers: DocumentReaders
  readonly signal: AbortSignal
  /**
   * Files whose reading took too much time or memory once, by their paths, with their size and time. The next update tries to read them one
   * more time.
   */
  readonly tooMuch: Map<string, Pick<FileState, 'size' | 'mtime'>>
  onProgress?(progress: IndexProgress): void
}

/** The prefix of the paths of a folder. */
export const prefixOf = ({ name }: KnowledgeFolder): string => `ks:${name}/`

/**
 * Compares the files of the folders with the index, reads those that are new or changed, and removes those that are gone. If a folder can
 * not be read, its documents stay in the index, because its disk may be missing only for a while.
 */
export async function updateIndex(folders: readonly KnowledgeFolder[], parts: IndexerParts): Promise<IndexReport> {
  const { index, signal, onProgress } = parts
  const problems: LeftOut[] = []
  const work: { readonly folder: KnowledgeFolder; readonly file: FolderFile }[] = []
  let removed = 0
  for (const folder of folders) {
    const prefix = prefixOf(folder)
    try {
      const { files, leftOut } = await listFolder(folder)
      const known = index.states(prefix)
      problems.push(...leftOut.map(({ path, problem }) => ({ path: prefix + path, problem })))
      work.push(
        ...files.filter(({ path, size, mtime }) => !isSame(known.get(prefix + path), { size, mtime })).map((file) => ({ folder, file })),
      )
      const present = new Set(files.map(({ path }) => prefix + path))
      for (const path of known.keys()) {
        if (present.has(path)) continue
        index.remove(path)
        removed++
      }
    } catch (error) {
      problems.push({ path: prefix, problem: `can not be read: ${errorMessage(error)}` })
    }
  }
  let done = 0
  for (const { folder, file } of work) {
    signal.throwIfAborted()
    const problem = await indexFile(folder, file, parts)
    if (problem !== undefined) problems.push({ path: prefixOf(folder) + file.path, problem })
    onProgress?.({ done: ++done, total: work.length })
    await setImmediate() // a long update lets other work of the process run
  }
  const listed = folders.flatMap((folder) => index.list(prefixOf(folder)))
  for (const { path, problem } of listed) if (problem !== undefined) problems.push({ path, problem })
  return { documents: listed.filter(({ mime }) => mime !== '').length, indexed: done, removed, problems }
}

const isSame = (known: Pick<FileState, 'size' | 'mtime'> | undefined, { size, mtime }: Omit<FileState, 'hash'>): boolean =>
  known?.size === size && known.mtime === mtime

/**
 * Updates the index for one file. Returns the reason if the file can not be read now but perhaps later. A lasting problem of the file is
 * stored in the index.
 */
export async function refreshFile(folder: KnowledgeFolder, path: string, parts: IndexerParts): Promise<string | undefined> {
  const known = parts.index.find(prefixOf(folder) + path)
  const file = await fileAt(folder, path)
  if (file) return isSame(known, file) ? undefined : indexFile(folder, file, parts)
  if (known) parts.index.remove(prefixOf(folder) + path)
  return undefined
}

async function indexFile(
  folder: KnowledgeFolder,
  file: FolderFile,
  { index, readers, tooMuch }: IndexerParts,
): Promise<string | undefined> {
  const path = prefixOf(folder) + file.path
  const tooLarge = sizeProblem(file.path, file.size)
  if (tooLarge !== undefined) {
    index.put(path, { ...file, hash: '' }, { problem: tooLarge })
    return undefined
  }
  const bytes = await readFileBelow(folder.path, file.path, maxFileBytes)
  if (!bytes) return 'can not be opened'
  const hash = createHash('sha256').update(bytes).digest('hex')
  if (index.find(path)?.hash === hash) {
    index.touch(path, { ...file, hash })
    return undefined
  }
  const result = await readDocument(file.path, bytes, readers)
  const isSecond = isSame(tooMuch.get(path), file)
  tooMuch.delete(path)
  if ('problem' in result && (result.again === 'later' || (result.again === 'once' && !isSecond))) {
    if (result.again === 'once') tooMuch.set(path, file)
    return result.problem
  }
  const content: IndexedContent = 'problem' in result ? result : await withTerms(result.document, file.path)
  index.put(path, { ...file, hash }, content)
  return undefined
}

/** After computing the terms of this many sections, the indexer pauses, so that other work of the process can run. */
const sectionsAtOnce = 20

async function withTerms(document: KnowledgeDocument, path: string): Promise<IndexedContent> {
  const joined = (texts: readonly string[]) => texts.flatMap((text) => termsOf(text)).join(' ')
  const terms: SectionTerms[] = []
  for (const [at, { headings, text }] of document.sections.entries()) {
    terms.push({ heading: joined(headings), body: joined([text]) })
    if (at % sectionsAtOnce === sectionsAtOnce - 1) await setImmediate()
  }
  const name = path.slice(path.lastIndexOf('/') + 1)
  return { document, about: joined([document.title, name, document.summary ?? '', ...document.tags]), terms }
}
