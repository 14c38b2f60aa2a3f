import { rmSync } from 'node:fs'
import { readdir, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from './open.ts'

/**
 * Removes a folder and all files in it. A program may have made folders so deep that their paths are longer than the system accepts. `rm`
 * uses these paths and fails. `rmSync` opens one folder inside the other and does not fail, but it blocks the process. So `rmSync` is used
 * only after `rm` has failed.
 */
export async function removeFolder(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true })
  } catch (error) {
    if (errorCode(error) !== 'ENAMETOOLONG') throw error
    rmSync(path, { recursive: true, force: true })
  }
}

/** Removes a folder if it contains no files, only empty folders. Returns whether the folder was removed. */
export async function removeEmptyFolders(path: string): Promise<boolean> {
  try {
    const entries = await readdir(path, { withFileTypes: true })
    for (const entry of entries) if (!entry.isDirectory() || !(await removeEmptyFolders(join(path, entry.name)))) return false
    await rmdir(path)
  } catch (error) {
    if (errorCode(error) === 'ENOTEMPTY') return false // a file was written meanwhile
    if (errorCode(error) !== 'ENOENT') throw error
  }
  return true
}

/** How many files a folder has, including the files in its subfolders. A link is counted as a file. */
export async function countFiles(path: string): Promise<number> {
  try {
    let count = 0
    for (const entry of await readdir(path, { withFileTypes: true }))
      count += entry.isDirectory() ? await countFiles(join(path, entry.name)) : 1
    return count
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
    return 0
  }
}
