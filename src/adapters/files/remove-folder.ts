import { rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { errorCode } from './open.ts'

/**
 * Removes a folder and all files in it. A program may have made folders so deep that their paths are longer than the system accepts. `rm`
 * uses these paths and fails. `rmSync` opens one folder inside the other and does not fail, but it blocks the process. So it is used only
 * then.
 */
export async function removeFolder(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true })
  } catch (error) {
    if (errorCode(error) !== 'ENAMETOOLONG') throw error
    rmSync(path, { recursive: true, force: true })
  }
}
