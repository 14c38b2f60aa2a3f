import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isObject, type JsonObject, parseJson } from '../../../core/json.ts'

/** The stored data of a sign-in to a server: the tokens, and the client that was registered for Daybook. */
export type SignIn = { readonly [name in 'tokens' | 'client']?: JsonObject }

/** The file with the sign-in to one server. Only the owner of the file can read it. */
export interface TokenFile {
  read(): Promise<SignIn>
  /** Changes some parts and keeps the others. `undefined` removes a part. */
  update(changes: { readonly [name in keyof SignIn]: SignIn[name] | undefined }): Promise<void>
  /** Runs `work` under a lock for this file, so that no other process runs such work at the same time. */
  exclusively<T>(work: () => Promise<T>): Promise<T>
}

const RETRY_MS = 50

export function createTokenFile(path: string): TokenFile {
  const lock = `${path}.lock`

  async function read(): Promise<SignIn> {
    const text = await readFile(path, 'utf8').catch(unlessMissing)
    const value = parseJson(text)
    return isObject(value) ? (value as SignIn) : {}
  }

  return {
    read,
    async update(changes) {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      const next = JSON.stringify({ ...(await read()), ...changes })
      const draft = `${path}.${randomBytes(6).toString('hex')}`
      await writeFile(draft, next, { mode: 0o600 })
      await rename(draft, path) // a reader finds the old or the new file, and never a part of one
    },
    async exclusively(work) {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      let giveBack = await take(lock)
      while (!giveBack) {
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
        giveBack = await take(lock)
      }
      try {
        return await work()
      } finally {
        giveBack()
      }
    },
  }
}

/**
 * Takes the lock. Returns a function that releases it, or undefined when another process or another agent of this process has the lock. The
 * lock is that of an empty SQLite file, so the operating system releases it when the process dies.
 */
async function take(file: string): Promise<(() => void) | undefined> {
  const { DatabaseSync } = await import('node:sqlite') // on demand, because few servers need a sign-in
  const database = new DatabaseSync(file)
  try {
    database.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE')
    return () => database.close()
  } catch (error) {
    database.close()
    if (((error as { readonly errcode?: number }).errcode ?? 0) !== SQLITE_BUSY) throw error
    return undefined
  }
}

const SQLITE_BUSY = 5

function unlessMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
}
