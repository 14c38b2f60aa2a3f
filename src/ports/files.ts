/**
 * Files below one folder that hostile programs may also write to. Paths are relative, with `/`; what `unsafeReason` refuses is refused
 * here, too. A link of either kind, a pipe, a device or a folder in the place of a file is never opened: `file.unsafe`, with
 * `details.reason` one of the reasons below. Nothing is checked by name and then opened by name. Every implementation passes
 * testing/conformance/files.ts.
 */
export interface Files {
  /** Undefined when nothing is there. More than `maxBytes` (256 MiB unless said) is `file.unsafe`, `too_large`. */
  read(path: string, options?: { readonly maxBytes?: number }): Promise<Uint8Array | undefined>
  /** Undefined when nothing is there. */
  stat(path: string): Promise<FileInfo | undefined>
  /** Replaces as a whole or not at all, durable before it resolves; folders are made. A read-only file is not replaced: `file.unsafe`, `read_only`. */
  write(path: string, bytes: Uint8Array, options?: { readonly readOnly?: boolean }): Promise<void>
  /**
   * Files below a folder (`''` is the root), in the order of their paths; none when it is not there. Dot-entries (unless asked for), links,
   * pipes, devices and names that are not a safe path are passed over; links are not entered.
   */
  list(folder: string, options?: ListOptions): Promise<Listing>
  /** False when nothing was there. A read-only file is not removed. */
  remove(path: string): Promise<boolean>
  /**
   * The folder holds exactly these files from now on, whatever it held, read-only files and links too. When anything fails it holds what it
   * held before; when the process dies, the one or the other as a whole, at the latest when the files are next used.
   */
  replaceFolder(folder: string, files: ReadonlyMap<string, Uint8Array>, options?: { readonly readOnly?: boolean }): Promise<void>
}

export interface FileInfo {
  /** Relative to the root of these files. */
  readonly path: string
  readonly size: number
  readonly readOnly: boolean
}

export interface ListOptions {
  readonly limit?: number
  /** Also files and folders whose name begins with a dot. */
  readonly dotEntries?: boolean
}

export interface Listing {
  readonly files: readonly FileInfo[]
  /** There was more. */
  readonly truncated: boolean
}

export type UnsafeFileReason =
  | 'unsafe_path'
  | 'symlink_blocked'
  | 'hard_link_blocked'
  | 'not_a_file'
  | 'not_a_folder'
  | 'too_large'
  | 'read_only'
  | 'no_access'
