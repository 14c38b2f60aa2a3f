import { randomBytes } from 'node:crypto'
import { mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isObject, type JsonObject, parseJson } from '../../../core/json.ts'

/** What is known about the sign-in to a server: the tokens, and the client that was registered for Daybook. */
export type SignIn = { readonly [name in 'tokens' | 'client']?: JsonObject }

/** The file with the sign-in to one server. Only the owner of the file can read it. */
export interface TokenFile {
  read(): Promise<SignIn>
  /** Changes some parts and keeps the others. `undefined` removes a part. */
  update(changes: { readonly [name in keyof SignIn]: SignIn[name] | undefined }): Promise<void>
  /** Runs `work` while no other process does so for this file. */
  exclusively<T>(work: () => Promise<T>): Promise<T>
}

/** A lock of a process that has died is removed after this time. No request for tokens takes as long. */
const STALE_MS = 60_000
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
      while (!(await take(lock))) await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      try {
        return await work()
      } finally {
        await rm(lock, { force: true })
      }
    },
  }
}

/** Creates the lock. Returns false when another process has it. */
async function take(lock: string): Promise<boolean> {
  try {
    await (await open(lock, 'wx', 0o600)).close()
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  const age = Date.now() - ((await stat(lock).catch(unlessMissing))?.mtimeMs ?? Date.now())
  if (age > STALE_MS) await rm(lock, { force: true })
  return false
}

function unlessMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
}
