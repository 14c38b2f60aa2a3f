import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { open, rm, rmdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Settings } from '../config/settings.ts'
import type { MachineCheck as Check } from '../core/api/info.ts'
import { errorMessage, Failure } from '../core/failure.ts'
import { describeDatabase, describeRelay } from '../wiring/installation/migrate.ts'
import { countParked } from '../wiring/installation/parked.ts'
import { findUnreferencedBlobs, type UnreferencedBlobs } from '../wiring/installation/unreferenced-blobs.ts'
import { openStore } from '../wiring/store.ts'

/** Checks the data folder by writing a temporary store. Permissions alone do not tell whether a database works on this file system. */
export async function checkDataFolder(data: string): Promise<Check> {
  const folder = resolve(data)
  const about = { name: 'data folder', required: true, advice: 'choose another folder with --data or DAYBOOK_DATA' }
  const missing = missingFolders(folder)
  try {
    await tryToWrite(folder)
    return { ...about, ok: true, found: missing.length === 0 ? folder : `${folder} (does not exist yet)` }
  } catch (error) {
    return { ...about, ok: false, found: `${folder} can not be written to (${causeText(error)})` }
  } finally {
    for (const created of missing) await removeIfEmpty(created)
  }
}

/**
 * Writes a store in a temporary subfolder. If the folder already has a database, also opens this database for writing. Throws when a step
 * fails.
 */
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

/** The folder and its parent folders, as far as they do not exist, innermost first. Empty if the folder exists. */
function missingFolders(folder: string): readonly string[] {
  return existsSync(folder) || folder === dirname(folder) ? [] : [folder, ...missingFolders(dirname(folder))]
}

/** Removes a folder that the check has created. If another process has put files into it meanwhile, the folder stays. */
async function removeIfEmpty(folder: string): Promise<void> {
  if (!existsSync(folder)) return
  try {
    await rmdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error
  }
}

/**
 * The reason why the temporary store could not be opened. It is the message of the cause, because the message of the store contains the
 * temporary folder.
 */
function causeText(error: unknown): string {
  return errorMessage(error instanceof Failure ? (error.cause ?? error) : error)
}

/**
 * Checks the Redis server, if one is set. The check is not required, because Daybook also works without Redis: followers on other servers
 * then get a text only when its entry is stored.
 */
async function checkRelay(settings: Settings): Promise<readonly Check[]> {
  const description = await describeRelay(settings)
  return description ? [{ name: 'redis', required: false, ...description }] : []
}

/** Checks the database and Redis, if they are set. The message of an error says what to do. */
export async function checkDatabase(settings: Settings): Promise<readonly Check[]> {
  try {
    const description = await describeDatabase(settings)
    return [...(description ? [{ name: 'database', required: true, ...description }] : []), ...(await checkRelay(settings))]
  } catch (error) {
    return [{ name: 'database', required: true, ok: false, found: errorMessage(error) }, ...(await checkRelay(settings))]
  }
}

/**
 * Reports conversations whose turns failed too often. Empty if there are no such conversations. Also empty if the store can not be opened,
 * because other checks report that.
 */
export async function checkParked(settings: Settings): Promise<readonly Check[]> {
  const parked = await countParked(settings).catch(() => undefined)
  if (parked === undefined || parked === 0) return []
  const found = `${parked} ${parked === 1 ? 'conversation is' : 'conversations are'} parked, because their turns failed too often`
  return [{ name: 'turns', required: false, ok: false, found, advice: 'daybook retry lists them' }]
}

/** Counts the blobs to which no entry refers. A process that died may have left such blobs. They do no harm, but take space. */
export async function checkBlobs(settings: Settings): Promise<Check> {
  const about = { name: 'blobs', required: false, advice: 'daybook doctor --sweep removes those older than a day' }
  try {
    const unreferenced = await findUnreferencedBlobs(settings)
    const found = unreferenced ? unreferencedText(unreferenced) : 'nothing stored yet'
    return { ...about, ok: (unreferenced?.old.blobs ?? 0) === 0, found }
  } catch (error) {
    // The check is `required` in this case, because a server could not open the database either.
    return { name: 'blobs', required: true, ok: false, found: errorMessage(error) }
  }
}

function unreferencedText({ old, young }: { readonly old: UnreferencedBlobs; readonly young: UnreferencedBlobs }): string {
  if (old.blobs === 0 && young.blobs === 0) return 'every blob belongs to an entry'
  const mayGetOne = `(${formatSize(young)}) may still get`
  if (old.blobs === 0) return `${young.blobs} ${mayGetOne} an entry`
  return `${old.blobs} (${formatSize(old)}) belong to no entry${young.blobs === 0 ? '' : `, ${young.blobs} more ${mayGetOne} one`}`
}

export const formatSize = ({ bytes }: Pick<UnreferencedBlobs, 'bytes'>) => `${bytes.toLocaleString('en')} bytes`
