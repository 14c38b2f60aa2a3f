/**
 * The files below one folder, to which hostile programs may write at the same time. Paths are relative, with `/`, and safe by
 * `unsafeReason`. Symbolic and hard links, pipes, devices and folders are never opened as a file: `file.unsafe`, with an
 * `UnsafeFileReason` in `details.reason`. A file is checked after it is opened, not by name before. Every implementation passes
 * testing/conformance/files.ts.
 */
export interface Files {
  /** The bytes of a file; undefined when there is none. A file over `maxBytes` (default 256 MiB) throws `file.unsafe`, `too_large`. */
  read(path: string, options?: { readonly maxBytes?: number }): Promise<Uint8Array | undefined>
  /** The size of a file and whether it is read-only; undefined when there is none. */
  stat(path: string): Promise<FileInfo | undefined>
  /**
   * Writes a file atomically, and durably before the promise resolves. Creates folders. Throws `file.unsafe`, `read_only` for a
   * read-only file.
   */
  write(path: string, bytes: Uint8Array, options?: { readonly readOnly?: boolean }): Promise<void>
  /**
   * The files below a folder (`''` is the root), sorted by path; none when there is no such folder. Leaves out dot-entries (unless
   * requested), links, pipes, devices and unsafe names; does not follow links.
   */
  list(folder: string, options?: ListOptions): Promise<Listing>
  /** Removes a file; false when there was none. Throws `file.unsafe`, `read_only` for a read-only file. */
  remove(path: string): Promise<boolean>
  /**
   * Replaces all contents of a folder, including read-only files and links. Atomic: after an error the folder is unchanged, and after
   * a crash it is complete in its old or its new state when the files are next used.
   */
  replaceFolder(folder: string, files: ReadonlyMap<string, Uint8Array>, options?: { readonly readOnly?: boolean }): Promise<void>
}

/** A file of a listing. */
export interface FileInfo {
  /** Relative to the root. */
  readonly path: string
  readonly size: number
  readonly readOnly: boolean
}

/** Options of a listing. */
export interface ListOptions {
  readonly limit?: number
  /** Include files and folders whose name begins with a dot. */
  readonly dotEntries?: boolean
}

/** The files below a folder. */
export interface Listing {
  readonly files: readonly FileInfo[]
  /** There were more files than `limit`. */
  readonly truncated: boolean
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
