import { existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/**
 * Creates a folder and those above it. Only their owner can access them. They are created one by one, because Node's `recursive` never
 * returns on a file system that allows no new folders, such as `/proc`. This file does not import SQLite, which some callers do not need.
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
