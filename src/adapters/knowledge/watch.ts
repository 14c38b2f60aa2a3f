import { type FSWatcher, watch } from 'node:fs'
import { sep } from 'node:path'
import { type KnowledgeFolder, mayHoldDocuments } from './folder.ts'

/** Watches folders until `close` is called. It does not keep the process alive. */
export interface FolderWatcher {
  close(): void
}

/** `onChange` is called when no file has changed for `quietMs`. While files keep changing, it is called after `longestMs`. */
const quietMs = 300
const longestMs = 5_000

/**
 * Calls `onChange` after files below the folders have changed. Many changes in a short time lead to one call. If a folder can not be
 * watched, `onError` is called, and the other folders are still watched.
 */
export function watchFolders(
  folders: readonly KnowledgeFolder[],
  onChange: () => void,
  onError: (folder: KnowledgeFolder, error: unknown) => void,
): FolderWatcher {
  const watchers: FSWatcher[] = []
  let timer: NodeJS.Timeout | undefined
  let since: number | undefined
  let closed = false

  /**
   * Changes of files that are no documents are ignored. For example, the index itself may be in an excluded folder, and every update
   * changes it.
   */
  async function noteChange(folder: KnowledgeFolder, name: string | null): Promise<void> {
    // if the folder was removed, the check fails, and the removal is treated as a change of documents
    const isOther = name !== null && !(await mayHoldDocuments(folder, name.replaceAll(sep, '/')).catch(() => true))
    if (!isOther && !closed) changed()
  }

  function changed(): void {
    const now = performance.now()
    since ??= now
    clearTimeout(timer)
    timer = setTimeout(call, Math.min(quietMs, Math.max(0, since + longestMs - now)))
    timer.unref()
  }

  function call(): void {
    since = undefined
    onChange()
  }

  for (const folder of folders) {
    try {
      const watcher = watch(folder.path, { recursive: true, persistent: false }, (_, name) => void noteChange(folder, name))
      watcher.on('error', (error) => {
        watcher.close()
        onError(folder, error)
      })
      watchers.push(watcher)
    } catch (error) {
      onError(folder, error)
    }
  }
  return {
    close() {
      closed = true
      clearTimeout(timer)
      for (const watcher of watchers) watcher.close()
    },
  }
}
