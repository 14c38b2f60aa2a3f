import { Failure } from '../../core/failure.ts'
import { unsafeReason } from '../../core/path/safety.ts'
import type { UnsafeFileReason } from '../../ports/files.ts'

/** The folder for drafts, directly below the root of the files. Callers of the port `Files` can not use paths in it. */
export const privateFolder = '.daybook'

/**
 * The maximum size in bytes of a file that is read, if the caller sets no other maximum. Reading a larger file throws. The limit is needed
 * because a program can create a sparse file of a terabyte, which uses no disk space.
 */
export const defaultMaxBytes = 256 * 1024 * 1024

const explanations: Record<Exclude<UnsafeFileReason, 'unsafe_path'>, string> = {
  symlink_blocked: 'is a symbolic link or lies behind one; links are never followed. Write a regular file instead',
  hard_link_blocked: 'has more than one name (a hard link); such files are never opened. Copy its bytes to a new file instead',
  not_a_file: 'is not a regular file',
  not_a_folder: 'leads through something that is not a folder',
  too_large: 'is too large',
  read_only: 'is read-only. Write to another path instead',
  no_access: 'can not be opened: its permissions forbid it',
}

/** The failure for a file that must not be opened. A model may read the message. */
export function unsafeFile(reason: keyof typeof explanations, path: string, explanation = explanations[reason]): Failure {
  return new Failure('file.unsafe', `${JSON.stringify(path)} ${explanation}`, { details: { reason, path } })
}

export const tooLarge = (path: string, maxBytes: number) => unsafeFile('too_large', path, `is larger than ${maxBytes} bytes`)

/** The segments of a path. A path that must not be used throws `file.unsafe` with the reason `unsafe_path`. */
export function safeSegments(path: string): readonly string[] {
  const segments = path.split('/')
  const reserved = segments[0]?.toLowerCase() === privateFolder ? `leads into ${privateFolder}` : undefined
  const reason = unsafeReason(path) ?? reserved
  if (reason !== undefined) {
    throw new Failure('file.unsafe', `the path ${JSON.stringify(path)} ${reason}`, { details: { reason: 'unsafe_path', path } })
  }
  return segments
}

/** The segments of a folder's path. The path '' is the root, which has no segments. */
export const folderSegments = (folder: string): readonly string[] => (folder === '' ? [] : safeSegments(folder))

/** Checks the new contents of a folder. Every path must be safe, and no path may be both a file and a folder with files. */
export function checkContents(folder: string, files: ReadonlyMap<string, Uint8Array>): void {
  const folders = new Set<string>()
  for (const path of files.keys()) {
    safeSegments(path)
    const segments = safeSegments(`${folder}/${path}`).slice(folder.split('/').length)
    for (let depth = 1; depth < segments.length; depth++) folders.add(segments.slice(0, depth).join('/'))
  }
  for (const path of files.keys()) if (folders.has(path)) throw unsafeFile('not_a_folder', `${folder}/${path}`)
}
