const readFailures: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder, name a file in it',
  ENOTDIR: 'a part of its path is a file, not a folder',
  EACCES: 'it may not be read by you',
  EPERM: 'it may not be read by you',
  ENAMETOOLONG: 'no file has so long a name',
  ERR_FS_FILE_TOO_LARGE: 'it is larger than 2 GiB',
}

/** Why a file cannot be read, in words. */
export const readFailureText = (error: NodeJS.ErrnoException): string => readFailures[error.code ?? ''] ?? error.message

const writeFailures: Readonly<Record<string, string>> = {
  ENOENT: 'its folder is not there; make it, or name another file with --out',
  EISDIR: 'it is a folder; name a file in it with --out',
  ENOTDIR: 'a part of its path is a file, not a folder; name another with --out',
  EACCES: 'you may not write there; name another file with --out',
  EPERM: 'you may not write there; name another file with --out',
  EROFS: 'nothing can be written there; name another file with --out',
  ENOSPC: 'the disk is full; make room, or name a file on another with --out',
}

/** Why a file can not be written, and what to do. */
export const writeFailureText = (error: NodeJS.ErrnoException): string => writeFailures[error.code ?? ''] ?? error.message
