import { createHash } from 'node:crypto'
import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { ThreadedPageReader } from '../adapters/documents/page/reader.ts'
import { createPdfReader } from '../adapters/documents/pdf.ts'
import { type KnowledgeFolder, namedFolders } from '../adapters/knowledge/folder.ts'
import type { ListedDocument } from '../adapters/knowledge/index-file.ts'
import type { IndexProgress, IndexReport } from '../adapters/knowledge/indexer.ts'
import type { FolderKnowledge } from '../adapters/knowledge/knowledge.ts'
import { makeFolder } from '../adapters/store/shared/make-folder.ts'
import type { AgentParts } from '../agent/agent.ts'
import type { Settings } from '../config/settings.ts'
import { errorMessage } from '../core/failure.ts'
import { InvalidOption } from '../core/options.ts'
import type { DocumentReader } from '../ports/documents.ts'
import type { Knowledge, KnowledgeSearch } from '../ports/knowledge.ts'
import type { FolderList } from '../ports/skills.ts'

/** Folders with documents, or an object that reads and searches. */
export type KnowledgeChoice = FolderList | (Knowledge & KnowledgeSearch) | Settings['knowledge']

/** The knowledge base as an option of the built-in tools. */
interface KnowledgeOption {
  readonly knowledge?: Knowledge
  readonly knowledgeSearch?: KnowledgeSearch
}

interface OpenOptions {
  readonly documents: DocumentReader
  /** The folder for the index. Without it, the index is in memory. */
  readonly data?: string | undefined
  readonly onProblem?: AgentParts['onProblem'] | undefined
  readonly onUpdate?: ((report: IndexReport) => void) | undefined
  readonly onProgress?: ((progress: IndexProgress) => void) | undefined
}

/** A knowledge base that is opened when it is first used. */
export interface OpenKnowledge {
  readonly option: KnowledgeOption
  /** Undefined when there are no folders. */
  open?(): Promise<FolderKnowledge>
  close(): Promise<void>
}

/** The knowledge base of an agent. Throws `InvalidOption` when a folder does not exist or two folders have the same name. */
export function openKnowledgeOption(choice: KnowledgeChoice | undefined, options: OpenOptions): OpenKnowledge {
  const none = { option: {}, close: async () => {} }
  if (choice === undefined) return none
  if (!isFolderList(choice)) {
    const made = choice as Knowledge & KnowledgeSearch // checked by the rules of the options
    return { ...none, option: { knowledge: made, knowledgeSearch: made } }
  }
  if (choice.length === 0) return none
  const folders = checkedFolders(choice)
  let opened: Promise<FolderKnowledge & { end(): Promise<void> }> | undefined
  let current: FolderKnowledge | undefined
  const open = () => {
    opened ??= openFolders(folders, options).then(
      (made) => {
        current = made
        return made
      },
      (error: unknown) => {
        opened = undefined // the next call tries again
        throw error
      },
    )
    return opened
  }
  const knowledge: Knowledge & KnowledgeSearch = {
    read: async (path, call) => (await open()).read(path, call),
    search: async (query, call) => (await open()).search(query, call),
    progress: () => current?.progress?.(),
  }
  return { option: { knowledge, knowledgeSearch: knowledge }, open, close: async () => (await opened?.catch(() => undefined))?.end() }
}

const isFolderList = (choice: KnowledgeChoice): choice is FolderList => Array.isArray(choice)

function checkedFolders(list: FolderList): readonly KnowledgeFolder[] {
  try {
    const folders = namedFolders(list)
    for (const { path } of folders) {
      if (!statSync(path).isDirectory()) throw new RangeError(`${path} is not a folder`)
    }
    return folders
  } catch (error) {
    throw new InvalidOption('settings', 'knowledge', `the knowledge base can not be read: ${errorMessage(error)}`, { cause: error })
  }
}

async function openFolders(folders: readonly KnowledgeFolder[], { documents, data, onProblem, onUpdate, onProgress }: OpenOptions) {
  // imported on demand, because most agents have no knowledge base
  const { openKnowledge } = await import('../adapters/knowledge/knowledge.ts')
  const { parseYaml } = await import('../adapters/skills/yaml.ts')
  let pages: Promise<ThreadedPageReader> | undefined
  const openPages = async () => (await import('../adapters/documents/page/reader.ts')).createPageReader()
  const knowledge = openKnowledge({
    folders: data === undefined ? folders : folders.map((folder) => ({ ...folder, excluded: data })),
    index: data === undefined ? ':memory:' : indexFile(folders, data),
    readers: {
      documents,
      pages: () => {
        pages ??= openPages()
        return pages
      },
      yaml: parseYaml,
    },
    onProblem: ({ path, problem }) => onProblem?.({ where: 'knowledge', error: new Error(`${path} ${problem}`) }),
    ...(onUpdate && { onUpdate }),
    ...(onProgress && { onProgress }),
  })
  const end = async () => {
    await knowledge.close()
    await (await pages)?.close()
  }
  return Object.assign(knowledge, { end })
}

/**
 * The file of the index. Each list of folders has its own file, so that two agents with one data folder do not overwrite each other's
 * index.
 */
function indexFile(folders: readonly KnowledgeFolder[], data: string): string {
  const key = createHash('sha256').update(JSON.stringify(folders)).digest('hex').slice(0, 12)
  makeFolder(join(data, 'knowledge'))
  return join(data, 'knowledge', `${key}.db`)
}

/** The settings that decide what the knowledge base is, and where its index is stored. */
type KnowledgeSettings = Pick<Settings, 'store' | 'data'> & Partial<Pick<Settings, 'knowledge'>>

/** The knowledge bases of an agent whose settings may be loaded again. If the folders are the same, they are not opened again. */
export function knowledgeCache({ watch, ...options }: Omit<OpenOptions, 'data'> & { readonly watch: boolean }) {
  const opened = new Map<string, OpenKnowledge>()
  return {
    open({ knowledge: choice, store, data: folder }: KnowledgeSettings): KnowledgeOption {
      const data = store === 'memory' ? undefined : folder
      const key = JSON.stringify([choice, data])
      const known = isFolderList(choice ?? []) ? opened.get(key) : undefined
      if (known) return known.option
      const knowledge = openKnowledgeOption(choice, { ...options, data })
      opened.set(key, knowledge)
      if (watch && knowledge.open) watchInBackground(knowledge.open, options.onProblem)
      return knowledge.option
    },
    async close() {
      for (const knowledge of opened.values()) await knowledge.close()
    },
  }
}

function watchInBackground(open: () => Promise<FolderKnowledge>, onProblem: OpenOptions['onProblem']): void {
  const report = (error: unknown) => {
    // an `AbortError` is not reported, because closing the agent aborts the update
    if ((error as Error).name !== 'AbortError') onProblem?.({ where: 'knowledge', error })
  }
  void open()
    .then((knowledge) => knowledge.watch())
    .catch(report)
}

/** Brings the index up to date for `daybook knowledge`. With `rebuild`, every document is read again. */
export async function indexKnowledge(
  { knowledge: choice, store, data }: KnowledgeSettings,
  { rebuild = false, onProgress }: { readonly rebuild?: boolean; readonly onProgress?: (progress: IndexProgress) => void },
): Promise<{ readonly report: IndexReport; readonly documents: readonly ListedDocument[] } | undefined> {
  const documents = createPdfReader()
  const folder = store === 'memory' ? undefined : data
  if (rebuild && folder !== undefined && choice !== undefined && isFolderList(choice))
    removeIndex(indexFile(checkedFolders(choice), folder))
  const knowledge = openKnowledgeOption(choice, { documents, data: folder, onProgress })
  try {
    const opened = await knowledge.open?.()
    return opened && { report: await opened.update(), documents: await opened.documents() }
  } finally {
    await knowledge.close()
    await documents.close()
  }
}

function removeIndex(file: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true })
}

/** The option for a replay. The search tool is never called in a replay, but the system text must contain it. */
export const replayedKnowledge = (choice: KnowledgeChoice | undefined): KnowledgeOption =>
  choice === undefined || (isFolderList(choice) && choice.length === 0)
    ? {}
    : { knowledgeSearch: { search: () => Promise.reject(new Error('a replay does not search')) } }

/** Describes for `daybook doctor` which folders the knowledge base has. It does not read the documents. */
export function describeKnowledge(choice: KnowledgeChoice): string {
  if (!isFolderList(choice)) return 'an object of the application'
  return (
    checkedFolders(choice)
      .map(({ name, path }) => `ks:${name}/ is ${path}`)
      .join(', ') || 'none'
  )
}
