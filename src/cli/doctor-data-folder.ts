import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { open, rm, rmdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { errorMessage, Failure } from '../core/failure.ts'
import { openStore } from '../wiring.ts'
import type { Check } from './doctor-checks.ts'

/** Whether a server could keep its data there. Rights do not tell: on some file systems nobody may write, on others no database works. */
export async function checkDataFolder(data: string): Promise<Check> {
  const folder = resolve(data)
  const about = { what: 'data folder', needed: true, advice: 'choose another with --data or DAYBOOK_DATA' }
  const absent = missingFolders(folder)
  try {
    await tryToWrite(folder)
    return { ...about, ok: true, found: absent.length === 0 ? folder : `${folder} (not made yet)` }
  } catch (error) {
    return { ...about, ok: false, found: `${folder} can not be written to (${causeText(error)})` }
  } finally {
    for (const made of absent) await removeIfEmpty(made)
  }
}

/** What a server does first, in a folder of its own that is taken away again; and whether the database that is there may be changed. */
async function tryToWrite(folder: string): Promise<void> {
  const trial = join(folder, `trial-${randomBytes(6).toString('hex')}`)
  try {
    const store = await openStore({ data: trial })
    try {
      await store.blobs.put(new TextEncoder().encode('a trial'))
    } finally {
      await store.close()
    }
  } finally {
    if (existsSync(trial)) await rm(trial, { recursive: true })
  }
  const database = join(folder, 'daybook.db')
  if (existsSync(database)) await (await open(database, 'r+')).close()
}

/** Those that a server would make, innermost first. */
function missingFolders(folder: string): readonly string[] {
  return existsSync(folder) || folder === dirname(folder) ? [] : [folder, ...missingFolders(dirname(folder))]
}

/** One that could not be made is not there; one that somebody has begun to use meanwhile is theirs. */
async function removeIfEmpty(folder: string): Promise<void> {
  if (!existsSync(folder)) return
  try {
    await rmdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error
  }
}

/** The store tells where it tried; what went wrong is told by what it met there. */
function causeText(error: unknown): string {
  return errorMessage(error instanceof Failure ? (error.cause ?? error) : error)
}
