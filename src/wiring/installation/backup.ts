import { existsSync, readFileSync } from 'node:fs'
import { lstat, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createFileBlobs, isHash } from '../../adapters/blobs/file.ts'
import type { BlobRef } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { isObject, parseJson } from '../../core/json.ts'
import type { ListedBlobs } from '../../ports/blobs.ts'
import { copyEntry, listTree } from '../move/tree.ts'
import type { StoreSettings } from '../storage.ts'

/** A report about a back-up. It is also the content of the file `backup.json` in the back-up, which is written last. */
export interface BackupReport {
  readonly createdAt: string
  readonly conversations: number
  readonly entries: number
  readonly blobs: number
  /** Files for users, working files, and sign-ins at MCP servers. */
  readonly files: number
  /** Whether blobs and files for users are in a bucket, and not in the back-up. */
  readonly bucket: boolean
}

const DATABASE = 'daybook.db'
const MANIFEST = 'backup.json'
const BLOBS = 'blobs'
const otherFolders = ['hosted', 'workspaces', 'mcp']
/** How often the database is copied at most. It is copied again if a blob of the copied database was deleted before it could be copied. */
const MAX_ATTEMPTS = 5

/**
 * Copies the data folder of the settings to an empty folder. Servers may use the data folder meanwhile. The copy of the database is a
 * snapshot of one moment, and all blobs to which it refers are in the back-up. The blobs are copied before the database and again after it,
 * because meanwhile an old blob may be removed, and a new entry may refer to a new blob.
 */
export async function backUpInstallation(settings: StoreSettings, target: string, now: string): Promise<BackupReport> {
  const { data } = settings
  checkFolderStore(settings)
  if (!existsSync(join(data, DATABASE))) throw new Failure('store.failed', `there are no conversations in ${data}: nothing to back up`)
  await checkEmpty(target, 'choose an empty folder for the back-up')
  await mkdir(target, { recursive: true, mode: 0o700 })
  const { copyDatabase, inspectCopy } = await import('../../adapters/store/sqlite/backup.ts')
  const bucket = settings.s3?.bucket !== undefined
  const copy = join(target, DATABASE)
  for (let attempt = 1; ; attempt++) {
    await copyFolder(data, target, BLOBS)
    await rm(copy, { force: true })
    copyDatabase(join(data, DATABASE), copy)
    await copyFolder(data, target, BLOBS)
    const { blobs, ...counts } = inspectCopy(copy)
    const missing = bucket ? [] : await missingBlobs(target, blobs)
    if (missing.length === 0) {
      let files = 0
      for (const folder of otherFolders) files += await copyFolder(data, target, folder)
      const report = { createdAt: now, ...counts, blobs: bucket ? 0 : blobs.length, files, bucket }
      await writeFile(join(target, MANIFEST), `${JSON.stringify(report, undefined, 2)}\n`, { mode: 0o600, flush: true })
      return report
    }
    if (attempt === MAX_ATTEMPTS)
      throw new Failure(
        'blob.missing',
        `${missing.length} blobs of the database are not in ${join(data, BLOBS)}: run daybook doctor to check them`,
      )
  }
}

/**
 * Copies a back-up to the data folder of the settings, which must be empty, and checks every blob. The database is copied last, so that no
 * server can use the result of an interrupted restore.
 */
export async function restoreInstallation(settings: StoreSettings, source: string): Promise<BackupReport> {
  const { data } = settings
  checkFolderStore(settings)
  const report = readManifest(source)
  if (report.bucket && settings.s3?.bucket === undefined)
    throw new RangeError('the blobs of this back-up are in a bucket: set s3.bucket (DAYBOOK_S3_BUCKET) to the bucket or its copy')
  await checkLinks(source)
  await checkEmpty(data, 'restore into an empty folder, with --data')
  await mkdir(data, { recursive: true, mode: 0o700 })
  const { inspectCopy } = await import('../../adapters/store/sqlite/backup.ts')
  const { blobs: hashes, ...counts } = inspectCopy(join(source, DATABASE))
  const path = hashes.find((sha256) => !isHash(sha256))
  if (path !== undefined) throw new Failure('store.damaged', `the back-up refers to the blob ${JSON.stringify(path)}, which is not a hash`)
  for (const folder of [BLOBS, ...otherFolders]) await copyFolder(source, data, folder)
  if (!report.bucket) {
    const blobs = createFileBlobs({ folder: join(data, BLOBS) })
    for (const blob of await referencedBlobs(blobs, hashes))
      for await (const _piece of blobs.stream(blob)) {
        // the stream compares the bytes with the hash
      }
  }
  await copyEntry(source, data, { path: DATABASE, kind: 'file', size: 0 })
  return { ...report, ...counts }
}

function checkFolderStore({ databaseUrl, store }: StoreSettings): void {
  if (databaseUrl !== undefined)
    throw new RangeError(
      'this command copies a store in a folder; for PostgreSQL use pg_dump and pg_restore, and copy any S3 bucket (docs/guides/backup.md)',
    )
  if (store === 'memory') throw new RangeError('a store in memory can not be backed up: set store=sqlite')
}

/**
 * Throws if a back-up has links. An attacker may have put a link into the back-up, through which users could download any file of this
 * machine. Only working files may be links, because programs make links, and a turn never follows a link out of its folder.
 */
async function checkLinks(source: string): Promise<void> {
  const refuse = (path: string) =>
    new Failure('store.damaged', `${join(source, path)} is a link, so the back-up was changed: use another one`)
  for (const name of [DATABASE, BLOBS, ...otherFolders]) {
    if ((await lstat(join(source, name)).catch(() => undefined))?.isSymbolicLink()) throw refuse(name)
    if (name === 'workspaces' || name === DATABASE) continue
    for await (const { path, kind } of listTree(join(source, name))) if (kind === 'link') throw refuse(`${name}/${path}`)
  }
}

async function checkEmpty(folder: string, advice: string): Promise<void> {
  const entries = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  if (entries.length > 0) throw new Failure('store.failed', `${folder} is not empty: ${advice}`)
}

function readManifest(source: string): BackupReport {
  const file = join(source, MANIFEST)
  const report = existsSync(file) ? parseJson(readFileSync(file, 'utf8')) : undefined
  // the fields of the report are not checked, because only `backUpInstallation` writes this file
  if (isObject(report) && existsSync(join(source, DATABASE))) return report as unknown as BackupReport
  throw new Failure(
    'store.failed',
    `${source} is not a complete back-up: it needs ${DATABASE} and a valid ${MANIFEST}. Run daybook backup again`,
  )
}

/** Copies a folder, without unfinished blobs. Returns the number of files. Files that disappear meanwhile are left out. */
async function copyFolder(from: string, to: string, name: string): Promise<number> {
  let files = 0
  const [source, target] = [join(from, name), join(to, name)]
  if (!existsSync(source)) return 0
  await mkdir(target, { recursive: true, mode: 0o700 })
  for await (const entry of listTree(source)) {
    if (name === BLOBS && entry.path.startsWith('incoming')) continue
    try {
      await copyEntry(source, target, entry)
      if (entry.kind !== 'folder') files++
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
  return files
}

/** The blobs with these hashes, and their sizes. Throws if a blob is missing. */
async function referencedBlobs(blobs: ListedBlobs, hashes: readonly string[]): Promise<readonly BlobRef[]> {
  const stored = new Map((await blobs.list()).map((blob) => [blob.sha256, blob]))
  return hashes.map((sha256) => {
    const blob = stored.get(sha256)
    if (!blob) throw new Failure('blob.missing', `there is no blob ${sha256}`, { details: { sha256 } })
    return blob
  })
}

async function missingBlobs(target: string, hashes: readonly string[]): Promise<readonly string[]> {
  const blobs = createFileBlobs({ folder: join(target, BLOBS) })
  const found = new Set((await blobs.list()).map(({ sha256 }) => sha256))
  return hashes.filter((sha256) => !found.has(sha256))
}
