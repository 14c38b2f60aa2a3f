import { stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { canonicalPath } from '../../core/path/logical.ts'
import { oneLine } from '../../core/render/text.ts'
import type { Knowledge, KnowledgeItem, KnowledgeSearch } from '../../ports/knowledge.ts'
import type { KnowledgeFolder, LeftOut } from './folder.ts'
import { type KnowledgeIndex, type ListedDocument, openIndex, type StoredDocument } from './index-file.ts'
import { type IndexProgress, type IndexReport, prefixOf, refreshFile, updateIndex } from './indexer.ts'
import { searchIndex } from './rank.ts'
import type { DocumentReaders } from './read-document.ts'
import { slugOf } from './sections.ts'
import { type FolderWatcher, watchFolders } from './watch.ts'

/** A knowledge base of folders with documents. */
export interface FolderKnowledge extends Knowledge, KnowledgeSearch {
  /**
   * Reads new and changed files into the index. Removes files that no longer exist, and overwrites their remains in the index file. Calls
   * during a running update share this update.
   */
  update(): Promise<IndexReport>
  /** All documents, and the files that can not be read. */
  documents(): Promise<readonly ListedDocument[]>
  /**
   * Updates the index whenever files change. If this is not called, a search first updates the index when the last update is older than
   * some seconds.
   */
  watch(): Promise<void>
  /** Ends updates and watching, and closes the index. A second call of `close` does nothing more. */
  close(): Promise<void>
}

/** Options of `openKnowledge`. */
export interface KnowledgeOptions {
  readonly folders: readonly KnowledgeFolder[]
  /** The file of the index. Everything in it can be read again from the folders. `:memory:` keeps it in memory. */
  readonly index: string
  readonly readers: DocumentReaders
  /** How long a search waits for an update of the index. After that, it searches the index as it is. Default: 15,000 ms. */
  readonly waitMs?: number
  onProgress?(progress: IndexProgress): void
  /** Called after each update that has changed the index. */
  onUpdate?(report: IndexReport): void
  /** Called for each file that is left out, and for each failed update in the background. It is called only once with the same problem. */
  onProblem?(problem: LeftOut): void
}

/** Without watching, a search first updates the index if the last update is older than this. */
const freshMs = 5_000
const maxListed = 500
/** If a purge takes longer than this, the next purge is delayed. */
const shortPurgeMs = 1_000
/** The delay after a long purge, in multiples of the time that the purge took. */
const purgePauses = 20

/** Opens a knowledge base. Nothing is read before the first call. */
export function openKnowledge({
  folders,
  index: file,
  readers,
  waitMs = 15_000,
  onProgress,
  onUpdate,
  onProblem,
}: KnowledgeOptions): FolderKnowledge {
  const ending = new AbortController()
  const opened = once(() => openIndex(file))
  const reported = new Set<string>()
  const tooMuch: Parameters<typeof updateIndex>[1]['tooMuch'] = new Map()
  let progress: IndexProgress | undefined
  let running: Promise<IndexReport> | undefined
  let purging: Promise<void> | undefined
  let purgeAt = Number.NEGATIVE_INFINITY
  let updatedAt = Number.NEGATIVE_INFINITY
  let watcher: FolderWatcher | undefined

  const parts = (index: KnowledgeIndex) => ({
    index,
    readers,
    signal: ending.signal,
    tooMuch,
    onProgress(step: IndexProgress) {
      progress = step
      onProgress?.(step)
    },
  })

  async function runUpdate(): Promise<IndexReport> {
    ending.signal.throwIfAborted()
    const report = await updateIndex(folders, parts(await opened()))
    updatedAt = performance.now()
    for (const problem of report.problems) reportOnce(problem)
    if (report.indexed + report.removed > 0) onUpdate?.(report)
    purge()
    return report
  }

  /**
   * Overwrites the remains of removed documents in the index file, in the background. For a large index this takes seconds, and the next
   * purge is then delayed.
   */
  function purge(): void {
    const begun = performance.now()
    if (purging || begun < purgeAt) return
    purging = opened()
      .then((index) => index.purge(ending.signal))
      .catch(reportFailure)
      .finally(() => {
        const took = performance.now() - begun
        purgeAt = took < shortPurgeMs ? Number.NEGATIVE_INFINITY : performance.now() + took * purgePauses
        purging = undefined
      })
  }

  function update(): Promise<IndexReport> {
    running ??= runUpdate().finally(() => {
      running = undefined
      progress = undefined
    })
    return running
  }

  /** Updates the index after a running update has ended, because that update may have missed the latest changes. */
  const updateAgain = async () => {
    await running?.catch(() => undefined) // ignored, because the caller of the running update gets this failure
    await update()
  }

  function reportOnce(problem: LeftOut): void {
    const text = `${problem.path} ${problem.problem}`
    if (reported.has(text)) return
    reported.add(text)
    onProblem?.(problem)
  }

  const reportFailure = (error: unknown) => {
    if (!ending.signal.aborted)
      reportOnce({ path: 'ks:', problem: `can not be updated: ${error instanceof Error ? error.message : String(error)}` })
  }

  /** Waits for a running or needed update, but not longer than `waitMs`. */
  async function waitForUpdate(signal: AbortSignal): Promise<void> {
    const isFresh = watcher ? updatedAt > 0 : performance.now() - updatedAt < freshMs
    if (isFresh && !running) return
    const timer = new AbortController()
    const timeout = sleep(waitMs, undefined, { signal: AbortSignal.any([signal, timer.signal]) }).catch(() => undefined)
    await Promise.race([update().catch(reportFailure), timeout])
    timer.abort()
    signal.throwIfAborted()
  }

  async function readFile(folder: KnowledgeFolder, path: string): Promise<StoredDocument | undefined> {
    const index = await opened()
    const problem = await refreshFile(folder, path, parts(index))
    purge()
    if (problem !== undefined) reportOnce({ path: prefixOf(folder) + path, problem })
    return index.find(prefixOf(folder) + path)
  }

  return {
    async update() {
      const report = await update()
      await purging
      return report
    },
    documents: async () => {
      const index = await opened()
      return folders.flatMap((folder) => index.list(prefixOf(folder)))
    },
    progress: () => progress,
    async search(query, { signal }) {
      await waitForUpdate(signal)
      return searchIndex(await opened(), query)
    },
    async read(path, { signal }) {
      const [name = '', ...names] = path.slice('ks:'.length).split('/')
      if (path === 'ks:')
        return listingOf(
          'ks:',
          folders.map((folder) => `- ${prefixOf(folder)}`),
        )
      const folder = folders.find((each) => each.name === name)
      const rel = names.join('/')
      if (!folder || (rel !== '' && canonicalPath(path) === undefined)) return undefined
      if (!(await isFolder(folder.path))) return { storageMissing: true }
      const mark = rel.lastIndexOf('#')
      const document = rel === '' ? undefined : await readFile(folder, rel)
      if (document) return itemOf(document, undefined)
      const part = mark > 0 ? await readFile(folder, rel.slice(0, mark)) : undefined
      if (part) return itemOf(part, rel.slice(mark + 1))
      await waitForUpdate(signal)
      const prefix = rel === '' ? prefixOf(folder) : `${prefixOf(folder)}${rel}/`
      const below = (await opened()).list(prefix).filter(({ mime }) => mime !== '')
      return below.length === 0
        ? undefined
        : listingOf(
            prefix,
            below.map(({ path, title }) => `- ${path} | ${title}`),
          )
    },
    async watch() {
      watcher ??= watchFolders(
        folders,
        () => void updateAgain().catch(reportFailure),
        ({ path }, error) => reportOnce({ path, problem: `can not be watched: ${error instanceof Error ? error.message : String(error)}` }),
      )
      await update()
    },
    close: once(async () => {
      ending.abort(new DOMException('The knowledge base is closed.', 'AbortError'))
      watcher?.close()
      await running?.catch(() => undefined) // `ending` stops the running update, and its failures were reported
      await purging
      const index = await opened.made()
      index?.close()
    }),
  }
}

/** The text of a document, or of one section with the sections below it. Undefined when there is no such section. */
function itemOf(document: StoredDocument, anchor: string | undefined): KnowledgeItem | undefined {
  const { path, title, mime, summary, url, sections } = document
  if (sections.length === 0) return {} // the file can not be read
  const at = anchor === undefined ? 0 : sections.findIndex((section) => section.anchor === anchor || section.anchor === slugOf(anchor))
  const found = sections[at]
  if (found === undefined) return undefined
  const shown = anchor === undefined ? sections : sections.slice(at, at + found.below + 1)
  const text = shown.map((section) => section.text).join('')
  const about = summary ?? oneLine(text, 300)
  return { mime: textMime(mime), text, source: { url: url ?? path, title, text: about, mime: textMime(mime), source_type: 'manual' } }
}

/** The type of the text that is shown for a document. The document itself may be a web page or a PDF file. */
const textMime = (mime: string): string => (mime === 'text/html' ? 'text/markdown' : mime === 'application/pdf' ? 'text/plain' : mime)

function listingOf(path: string, lines: readonly string[]): KnowledgeItem {
  const more = lines.length > maxListed ? [`... ${lines.length - maxListed} more`] : []
  return {
    mime: 'text/plain',
    text: [`${path} has ${lines.length} ${lines.length === 1 ? 'entry' : 'entries'}:`, ...lines.slice(0, maxListed), ...more].join('\n'),
  }
}

const isFolder = async (path: string): Promise<boolean> => (await stat(path).catch(() => undefined))?.isDirectory() ?? false

/** Returns a function that calls `make` once and keeps its result for later calls. If `make` fails, the next call tries again. */
function once<T>(make: () => Promise<T>): { (): Promise<T>; made(): Promise<T | undefined> } {
  let result: Promise<T> | undefined
  const call = () => {
    result ??= make().catch((error: unknown) => {
      result = undefined
      throw error
    })
    return result
  }
  return Object.assign(call, { made: async () => result?.catch(() => undefined) })
}
