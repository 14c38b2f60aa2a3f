import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createFileBlobs } from './adapters/blobs/file.ts'
import { createSystemClock } from './adapters/clock/system.ts'
import { createSqliteStore } from './adapters/store/sqlite.ts'
import type { Settings } from './config.ts'
import type { ConversationStore } from './ports/store.ts'

/** The embedded store: one SQLite file and a folder of blobs, made when they are not there. */
export async function openStore(settings: Settings): Promise<ConversationStore> {
  await mkdir(settings.data, { recursive: true, mode: 0o700 })
  const blobs = createFileBlobs({ folder: join(settings.data, 'blobs') })
  return createSqliteStore({ file: join(settings.data, 'daybook.db'), blobs, clock: createSystemClock() })
}
