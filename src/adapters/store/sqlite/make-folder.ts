import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/**
 * Makes the folder and those above it, for their owner alone. One by one: where a file system holds no folders of ours (`/proc`), Node's
 * own `recursive` tries for ever.
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
