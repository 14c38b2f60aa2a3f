/**
 * The files below one folder, to which hostile programs may write at the same time. Paths are relative, use `/`, and have to be safe by
 * `unsafeReason`. Opening a symbolic or hard link, a pipe, a device or a folder as a file throws `file.unsafe` with an `UnsafeFileReason`
 * in `details.reason`. This is checked on the opened file, because its name could be replaced after a check. Every implementation
 * passes testing/conformance/files.ts.
 */
export interface Files {
  /**
   * The bytes of a file; undefined when there is no such file. A file over `maxBytes` (default 256 MiB) throws `file.unsafe` with the
   * reason `too_large`.
   */
  read(path: string, options?: { readonly maxBytes?: number }): Promise<Uint8Array | undefined>
  /** The size of a file and whether it is read-only; undefined when there is no such file. */
  stat(path: string): Promise<FileInfo | undefined>
  /**
   * Writes a file atomically and creates its folders. It is durable when the promise resolves. An existing read-only file throws
   * `file.unsafe` with the reason `read_only`.
   */
  write(path: string, bytes: Uint8Array, options?: { readonly readOnly?: boolean }): Promise<void>
  /**
   * The files below a folder (`''` is the root), sorted by path. The list is empty when there is no such folder. It leaves out links,
   * pipes, devices, unsafe names and, unless requested, names that begin with a dot. Links are not followed.
   */
  list(folder: string, options?: ListOptions): Promise<Listing>
  /** Removes a file; false when there was none. A read-only file throws `file.unsafe` with the reason `read_only`. */
  remove(path: string): Promise<boolean>
  /**
   * Replaces all contents of a folder, including read-only files and links. After an error the folder is unchanged. After a crash the
   * folder is either completely old or completely new, at the latest when the files are next used.
   */
  replaceFolder(folder: string, files: ReadonlyMap<string, Uint8Array>, options?: { readonly readOnly?: boolean }): Promise<void>
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
