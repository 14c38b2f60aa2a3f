import { type FSWatcher, statSync, watch } from 'node:fs'
import { basename, dirname } from 'node:path'

/** Watches files that may change, be replaced or not exist yet. */
export interface FileWatcher {
  /** Watches these files from now on, and no others. */
  set(files: Iterable<string>): void
  close(): void
}

/** How long the files must stay unchanged before `onChange` is called, in milliseconds. Editors write a file in several steps. */
const quietMs = 80

/**
 * Calls `onChange` with the files that have changed. Folders are watched and not files, because many editors replace a file by a new one.
 */
export function createFileWatcher(onChange: (files: readonly string[]) => void): FileWatcher {
  const folders = new Map<string, FSWatcher>()
  let watched = new Set<string>()
  const changed = new Set<string>()
  let timer: NodeJS.Timeout | undefined

  function report(): void {
    const files = [...changed]
    changed.clear()
    onChange(files)
  }

  function onEvent(folder: string, name: string | null): void {
    const files = [...watched].filter((file) => dirname(file) === folder && (name === null || basename(file) === name))
    // no watched file has changed, but a folder above a missing file may have been created
    if (files.length === 0 && ![...watched].some((file) => nearestFolder(file) !== folder && isBelow(file, folder) && !exists(file))) return
    for (const file of files) changed.add(file)
    clearTimeout(timer)
    timer = setTimeout(report, quietMs)
  }

  return {
    set(files) {
      watched = new Set(files)
      const wanted = new Set([...watched].map(nearestFolder))
      for (const [folder, watcher] of folders) {
        if (wanted.has(folder)) continue
        watcher.close()
        folders.delete(folder)
      }
      for (const folder of wanted) {
        if (folders.has(folder)) continue
        const watcher = watch(folder, (_, name) => onEvent(folder, name))
        watcher.on('error', () => watcher.close()) // the folder was removed
        folders.set(folder, watcher)
      }
    },
    close() {
      clearTimeout(timer)
      for (const watcher of folders.values()) watcher.close()
      folders.clear()
    },
  }
}

/** The folder of a file. If the folder does not exist, the nearest folder above it that exists. */
function nearestFolder(file: string): string {
  let folder = dirname(file)
  while (!statSync(folder, { throwIfNoEntry: false })?.isDirectory() && folder !== dirname(folder)) folder = dirname(folder)
  return folder
}

const isBelow = (file: string, folder: string) => file.startsWith(folder.endsWith('/') ? folder : `${folder}/`)
const exists = (file: string) => statSync(file, { throwIfNoEntry: false }) !== undefined
