import { type FSWatcher, watch } from 'node:fs'

/** Watches folders until `close` is called. It does not keep the process alive. */
export interface FolderWatcher {
  close(): void
}

/** How long no file may change before `onChange` is called, and how long it waits at most. */
const quietMs = 300
const longestMs = 5_000

/**
 * Calls `onChange` after files below the folders have changed. Many changes in a short time are one call. If a folder can not be watched,
 * `onError` is called, and the others are watched.
 */
export function watchFolders(
  folders: readonly string[],
  onChange: () => void,
  onError: (folder: string, error: unknown) => void,
): FolderWatcher {
  const watchers: FSWatcher[] = []
  let timer: NodeJS.Timeout | undefined
  let since: number | undefined

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
      const watcher = watch(folder, { recursive: true, persistent: false }, changed)
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
      clearTimeout(timer)
      for (const watcher of watchers) watcher.close()
    },
  }
}
