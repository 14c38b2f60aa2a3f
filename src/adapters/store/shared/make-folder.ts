import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/**
 * Creates a folder and its missing parent folders, which only their owner can access. The folders are created one by one, because Node's
 * `recursive` never returns on a file system that allows no new folders, such as `/proc`.
 */
export function makeFolder(name: string): void {
  const folder = resolve(name)
  if (!existsSync(dirname(folder))) makeFolder(dirname(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw error
  }
}
