import { Failure } from '../../core/failure.ts'
import type { Files } from '../../ports/files.ts'
import { examine, explainProblem } from '../artifacts/examine.ts'
import { archiveProblem } from './archives.ts'

/** Why a file that a program made is not delivered. */
export interface FileProblem {
  readonly code: FileErrorCode
  /** A text for the model, for example `file not produced`. */
  readonly message: string
}

type FileErrorCode =
  | 'missing_file'
  | 'empty_file'
  | 'artifact_symlink_blocked'
  | 'artifact_path_escape_blocked'
  | 'artifact_hard_link_blocked'
  | 'artifact_not_regular_file'
  | 'artifact_unreadable'
  | 'artifact_internal_path_blocked'
  | 'artifact_invalid'
  | 'file_size_limit'

/** The content of a file, or why the file is refused. */
export type CheckedFile = { readonly ok: true; readonly bytes: Uint8Array } | { readonly ok: false; readonly problem: FileProblem }

/**
 * Reads a file that a program made, and checks it by its content. The file is opened and read only once, and only these bytes are used.
 * Later changes to the file have no effect.
 */
export async function checkFile(files: Files, path: string, maxBytes: number): Promise<CheckedFile> {
  const bytes = await readOnce(files, path, maxBytes)
  if (!(bytes instanceof Uint8Array)) return { ok: false, problem: bytes }
  if (bytes.length === 0) return refused('empty_file', 'file is empty')
  const archive = await archiveProblem(path, bytes)
  if (archive) return { ok: false, problem: archive }
  const { problem } = examine(path, bytes)
  return problem === undefined ? { ok: true, bytes } : refused('artifact_invalid', explainProblem(problem))
}

const refused = (code: FileErrorCode, message: string): CheckedFile => ({ ok: false, problem: { code, message } })

async function readOnce(files: Files, path: string, maxBytes: number): Promise<Uint8Array | FileProblem> {
  try {
    return (await files.read(path, { maxBytes })) ?? missing
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'file.unsafe') throw error
    switch (error.details.reason) {
      case 'symlink_blocked':
        return (await isInsideLinkedFolder(files, path)) ? linkedFolder : symlink
      case 'hard_link_blocked':
        return { code: 'artifact_hard_link_blocked', message: 'file is a hard link to another file' }
      case 'not_a_folder':
        return missing
      case 'too_large':
        return { code: 'file_size_limit', message: `file has more than ${maxBytes} bytes` }
      case 'no_access':
        return { code: 'artifact_unreadable', message: 'file can not be opened, because the program has changed its permissions' }
      default:
        return { code: 'artifact_not_regular_file', message: 'not a regular file but a folder, a pipe, a socket or a device' }
    }
  }
}

const missing: FileProblem = { code: 'missing_file', message: 'file not produced' }
const symlink: FileProblem = { code: 'artifact_symlink_blocked', message: 'file is a symbolic link' }
const linkedFolder: FileProblem = { code: 'artifact_path_escape_blocked', message: 'a folder in its path is a symbolic link' }

/** Whether a folder in the path is a link. In this case, the folder of the file can not be listed. */
async function isInsideLinkedFolder(files: Files, path: string): Promise<boolean> {
  try {
    await files.list(path.slice(0, path.lastIndexOf('/')), { limit: 1 })
    return false
  } catch (error) {
    if (error instanceof Failure && error.code === 'file.unsafe') return true
    throw error
  }
}
