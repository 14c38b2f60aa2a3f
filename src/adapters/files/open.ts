import { existsSync, constants as flags } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from './error-code.ts'
import { unsafeFile } from './safe-paths.ts'

/**
 * A folder held open. `inside` addresses an entry of this very folder, whatever happens to its name meanwhile: on Linux through
 * `/proc/self/fd`, which leads to the open folder and not to a path. So every step of a walk starts at what the step before it opened, and
 * there is no moment between a check and its use.
 *
 * Elsewhere there is no such door. `inside` is a plain path then; the folder's real path was compared with it when it was opened, and the
 * last step never follows a link, but whoever swaps a folder for a link in between is not caught.
 */
export interface OpenFolder {
  readonly path: string
  inside(name: string): string
  sync(): Promise<void>
  close(): Promise<void>
}

const hasProcFd = process.platform === 'linux' && existsSync('/proc/self/fd')
const folderFlags = flags.O_RDONLY | flags.O_DIRECTORY | flags.O_NOFOLLOW | flags.O_NONBLOCK

/** The folder that everything else is opened from; made when it is not there. The way to it is trusted. */
export async function openRoot(folder: string): Promise<OpenFolder> {
  await mkdir(folder, { recursive: true })
  const path = await realpath(folder)
  return openFolderAt(path, await open(path, folderFlags))
}

/** Undefined when nothing is there. `of` is what the caller asked for, for the words of a refusal. */
export async function openSubfolder(parent: OpenFolder, name: string, of: string): Promise<OpenFolder | undefined> {
  const path = join(parent.path, name)
  let handle: FileHandle
  try {
    handle = await open(parent.inside(name), folderFlags)
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT') return undefined
    if (code === 'ENOTDIR' || code === 'ELOOP')
      throw unsafeFile((await isLink(parent.inside(name))) ? 'symlink_blocked' : 'not_a_folder', of)
    throw error
  }
  if (hasProcFd || (await realpath(path)) === path) return openFolderAt(path, handle)
  await handle.close()
  throw unsafeFile('symlink_blocked', of)
}

/** The same, and made when nothing is there, durably. */
export async function openOrMakeSubfolder(parent: OpenFolder, name: string, of: string): Promise<OpenFolder> {
  const there = await openSubfolder(parent, name, of)
  if (there) return there
  await mkdir(parent.inside(name)).catch((error: unknown) => {
    if (errorCode(error) !== 'EEXIST') throw error // somebody was faster; what they made is looked at below
  })
  await parent.sync()
  const made = await openSubfolder(parent, name, of)
  if (!made) throw unsafeFile('not_a_folder', of)
  return made
}

/** From the root down to a folder, one step at a time. The root stays open, every other folder on the way is closed again. */
export async function walk(
  root: OpenFolder,
  segments: readonly string[],
  step: (parent: OpenFolder, name: string) => Promise<OpenFolder | undefined>,
): Promise<OpenFolder | undefined> {
  let here: OpenFolder = root
  for (const name of segments) {
    const parent = here
    let next: OpenFolder | undefined
    try {
      next = await step(parent, name)
    } finally {
      if (parent !== root) await parent.close()
    }
    if (!next) return undefined
    here = next
  }
  return here
}

function openFolderAt(path: string, handle: FileHandle): OpenFolder {
  const at = hasProcFd ? `/proc/self/fd/${handle.fd}` : path
  return { path, inside: (name) => (name === '' ? at : `${at}/${name}`), sync: () => handle.sync(), close: () => handle.close() }
}

/** Only to say why it was refused. */
async function isLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink()
  } catch {
    return false // gone again
  }
}
