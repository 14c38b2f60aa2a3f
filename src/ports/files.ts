/**
 * Reads and writes the files below one folder, the root. Hostile programs may write to the same folder at the same time.
 * Paths are relative to the root and use `/`. A path for which `unsafeReason` (core/path/safety.ts) gives a reason is refused.
 * Only regular files can be opened. A symbolic link, hard link, pipe, device or folder throws `file.unsafe` with an `UnsafeFileReason` in
 * `details.reason`. The check is made on the opened file. A check of the name would not be enough, because a program could replace the file
 * after the check.
 * Every implementation passes testing/conformance/files.ts.
 */
export interface Files {
  /**
   * The bytes of a file. Undefined when there is no such file. A file with more than `maxBytes` bytes (default 256 MiB) throws
   * `file.unsafe` with the reason `too_large`.
   */
  read(path: string, options?: { readonly maxBytes?: number }): Promise<Uint8Array | undefined>
  /**
   * Yields the bytes of a file in pieces, so that a large file is not in memory as a whole. The file is opened once, and is limited as with
   * `read`. If there is no such file, throws `file.unsafe` with the reason `not_a_file`. Callers use `read` if an implementation leaves this
   * function out.
   */
  stream?(path: string, options?: { readonly maxBytes?: number }): AsyncIterable<Uint8Array>
  /**
   * The size of a file, whether the file is read-only, and when it was written, if the implementation knows it. Undefined when there is no
   * such file.
   */
  stat(path: string): Promise<(FileInfo & { readonly writtenAtMs?: number }) | undefined>
  /**
   * Writes a file atomically and creates the folders in its path. The file is durable when the promise resolves. If `durable` is false, the
   * file may be lost or empty after a power failure. If there is already a read-only file at the path, the function throws `file.unsafe`
   * with the reason `read_only`.
   */
  write(path: string, bytes: Uint8Array, options?: WriteOptions): Promise<void>
  /**
   * The files below a folder and its subfolders, sorted by path. `''` is the root. A folder that does not exist has an empty list. Links,
   * pipes, devices and files with unsafe names are in `skipped`, and links to folders are not followed. Names that begin with a dot are
   * left out, unless `dotEntries` is set.
   */
  list(folder: string, options?: ListOptions): Promise<Listing>
  /** Removes a file. Returns false when there was no such file. A read-only file throws `file.unsafe` with the reason `read_only`. */
  remove(path: string): Promise<boolean>
  /**
   * Replaces all contents of a folder, including read-only files and links. After an error the folder is unchanged. If the process dies
   * during the call, the folder has all the old files or all the new files when `Files` is next used.
   */
  replaceFolder(folder: string, files: ReadonlyMap<string, Uint8Array>, options?: { readonly readOnly?: boolean }): Promise<void>
}

/** Options of a file that is written. */
export interface WriteOptions {
  /** Whether the file can not be written again. Default: false. */
  readonly readOnly?: boolean
  /** Whether the file must survive a power failure. Default: true. */
  readonly durable?: boolean
}

/** A file of a listing. */
export interface FileInfo {
  /** The path relative to the root. */
  readonly path: string
  readonly size: number
  readonly readOnly: boolean
}

/** Options of a listing. */
export interface ListOptions {
  /**
   * The maximum number of files. With 0, all folders are visited, but no file is examined. This is the fastest way to find out whether
   * there are files, and which entries are skipped. A listing with the limit 0 does not find hard links.
   */
  readonly limit?: number
  /** Whether files and folders whose name begins with a dot are listed. Default: false. */
  readonly dotEntries?: boolean
}

/** The files below a folder. */
export interface Listing {
  readonly files: readonly FileInfo[]
  /** True when the folder has more files than `limit`. */
  readonly truncated: boolean
  /**
   * The links, pipes, devices and files with unsafe names below the folder, sorted by path. The list has at most 1,000 entries. If
   * `truncated` is true, some of these entries may be missing from the list.
   */
  readonly skipped: readonly SkippedEntry[]
}

/** An entry of a folder that is not listed because it can not be opened as a file or folder. */
export interface SkippedEntry {
  /** The path relative to the root. It may have any characters, such as line breaks. */
  readonly path: string
  readonly reason: UnsafeFileReason
}

/** Why a path or a file is refused. */
export type UnsafeFileReason =
  | 'unsafe_path'
  | 'symlink_blocked'
  | 'hard_link_blocked'
  | 'not_a_file'
  | 'not_a_folder'
  | 'too_large'
  | 'read_only'
  | 'no_access'
