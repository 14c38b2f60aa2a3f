import { constants } from 'node:fs'
import { open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** The files that git reads in every folder, to learn what it ignores and how it converts files. */
const ruleFiles: ReadonlySet<string> = new Set(['.gitignore', '.gitattributes'])

/**
 * Removes the pipes below a folder that have the name of a rule file. A program may have made them. git opens a pipe like a file, and waits
 * until another process opens the pipe for writing. This function does so, so that a waiting git process continues. A version never
 * contains a pipe.
 */
export async function removeRulePipes(folder: string): Promise<void> {
  // a folder that can not be read is skipped, because git can not read it either
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  for (const entry of entries) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await removeRulePipes(path)
    else if (entry.isFIFO() && ruleFiles.has(entry.name)) await removePipe(path)
  }
}

/** The pipe stays open until it is removed, so that a git process that opens it meanwhile does not wait. */
async function removePipe(path: string): Promise<void> {
  const pipe = await open(path, constants.O_RDWR | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  try {
    await rm(path, { force: true })
  } finally {
    await pipe.close()
  }
}
