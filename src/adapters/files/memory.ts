import type { FileInfo, Files } from '../../ports/files.ts'
import { checkContents, defaultMaxBytes, folderSegments, safeSegments, tooLarge, unsafeFile } from './safe-paths.ts'

interface MemoryFile {
  readonly bytes: Uint8Array
  readonly readOnly: boolean
}

const PIECE_BYTES = 64 * 1024

/** Files in memory, without links and permissions, for tests and for agents whose files need not outlive the process. */
export function createMemoryFiles(): Files {
  const contents = new Map<string, MemoryFile>()
  const folders = new Set<string>()

  /** The file at a path. Throws if the path is a folder, or if one of its parent folders is a file. Files on disk throw the same errors. */
  function find(path: string): MemoryFile | undefined {
    checkFolders(path, safeSegments(path))
    if (folders.has(path)) throw unsafeFile('not_a_file', path)
    return contents.get(path)
  }

  function checkFolders(path: string, segments: readonly string[]): void {
    for (let depth = 1; depth < segments.length; depth++) {
      if (contents.has(segments.slice(0, depth).join('/'))) throw unsafeFile('not_a_folder', path)
    }
  }

  function makeFolders(segments: readonly string[]): void {
    for (let depth = 1; depth <= segments.length; depth++) folders.add(segments.slice(0, depth).join('/'))
  }

  function put(path: string, bytes: Uint8Array, readOnly: boolean): void {
    makeFolders(path.split('/').slice(0, -1))
    contents.set(path, { bytes: Uint8Array.from(bytes), readOnly })
  }

  return {
    async read(path, { maxBytes = defaultMaxBytes } = {}) {
      const file = find(path)
      if (file && file.bytes.length > maxBytes) throw tooLarge(path, maxBytes)
      return file && Uint8Array.from(file.bytes) // a copy, because the caller may modify it
    },

    async *stream(path, { maxBytes = defaultMaxBytes } = {}) {
      const file = find(path)
      if (!file) throw unsafeFile('not_a_file', path, 'does not exist')
      if (file.bytes.length > maxBytes) throw tooLarge(path, maxBytes)
      for (let at = 0; at < file.bytes.length; at += PIECE_BYTES) yield file.bytes.slice(at, at + PIECE_BYTES)
    },

    async stat(path) {
      const file = find(path)
      return file && infoOf(path, file)
    },

    async write(path, bytes, { readOnly = false } = {}) {
      if (find(path)?.readOnly) throw unsafeFile('read_only', path)
      put(path, bytes, readOnly)
    },

    async list(folder, { limit = Number.POSITIVE_INFINITY, dotEntries = false } = {}) {
      const segments = folderSegments(folder)
      checkFolders(folder, segments)
      if (contents.has(folder)) throw unsafeFile('not_a_folder', folder)
      const prefix = folder === '' ? '' : `${folder}/`
      const isListed = (path: string) => path.startsWith(prefix) && (dotEntries || !/(?:^|\/)\./.test(path.slice(prefix.length)))
      const paths = [...contents.keys()].filter(isListed).sort()
      const files = paths.slice(0, limit).map((path) => infoOf(path, contents.get(path) as MemoryFile))
      return { files, truncated: paths.length > limit, skipped: [] } // every path is safe, and there are no links
    },

    async remove(path) {
      if (find(path)?.readOnly) throw unsafeFile('read_only', path)
      return contents.delete(path)
    },

    async replaceFolder(folder, files, { readOnly = false } = {}) {
      checkFolders(folder, safeSegments(folder))
      if (contents.has(folder)) throw unsafeFile('not_a_folder', folder)
      checkContents(folder, files)
      for (const path of [...contents.keys()]) if (path.startsWith(`${folder}/`)) contents.delete(path)
      for (const path of [...folders]) if (path.startsWith(`${folder}/`)) folders.delete(path)
      makeFolders(folder.split('/'))
      for (const [path, bytes] of files) put(`${folder}/${path}`, bytes, readOnly)
    },
  }
}

const infoOf = (path: string, { bytes, readOnly }: MemoryFile): FileInfo => ({ path, size: bytes.length, readOnly })
