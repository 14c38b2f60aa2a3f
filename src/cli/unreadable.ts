const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder, name a file in it',
  ENOTDIR: 'a part of its path is a file, not a folder',
  EACCES: 'it may not be read by you',
  EPERM: 'it may not be read by you',
  ENAMETOOLONG: 'no file has so long a name',
  ERR_FS_FILE_TOO_LARGE: 'it is larger than 2 GiB',
}

/** Why a file cannot be read, in words. */
export const reasonOf = (error: NodeJS.ErrnoException): string => reasons[error.code ?? ''] ?? error.message
