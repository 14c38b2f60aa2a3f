import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { chmod, copyFile, lstat, mkdir, open, opendir, readlink, rm, symlink, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../../core/failure.ts'

/** A file, folder or link below a folder. `path` is relative to the folder and has slashes. */
export interface TreeEntry {
  readonly path: string
  readonly kind: 'file' | 'folder' | 'link'
  readonly size: number
}

/** Lists everything below a folder, each folder before its content. Sockets and devices, which programs may leave, are skipped. */
export async function* listTree(folder: string, below = ''): AsyncGenerator<TreeEntry> {
  for (const { name, isFolder, isLink, isFile } of await entriesOf(join(folder, below))) {
    const path = below === '' ? name : `${below}/${name}`
    if (isFolder) {
      yield { path, kind: 'folder', size: 0 }
      yield* listTree(folder, path)
    } else if (isLink) yield { path, kind: 'link', size: 0 }
    else if (isFile) yield { path, kind: 'file', size: (await lstat(join(folder, path))).size }
  }
}

async function entriesOf(folder: string) {
  const found: { readonly name: string; readonly isFolder: boolean; readonly isLink: boolean; readonly isFile: boolean }[] = []
  try {
    for await (const entry of await opendir(folder))
      found.push({ name: entry.name, isFolder: entry.isDirectory(), isLink: entry.isSymbolicLink(), isFile: entry.isFile() })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  return found.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Copies one entry of `from` to `to`. A file with the same size and time was copied by an earlier run, and is not copied again. */
export async function copyEntry(from: string, to: string, { path, kind }: TreeEntry): Promise<void> {
  const [source, target] = [join(from, path), join(to, path)]
  const stats = await lstat(source)
  if (kind === 'folder') {
    await mkdir(target, { recursive: true })
    return chmod(target, stats.mode & 0o7777)
  }
  const existing = await lstat(target).catch(() => undefined)
  if (kind === 'link') {
    if (existing) await rm(target)
    return symlink(await readlink(source), target)
  }
  if (existing?.isFile() && existing.size === stats.size && Math.abs(existing.mtimeMs - stats.mtimeMs) < 1) return
  if (existing) await rm(target)
  await copyFile(source, target)
  const file = await open(target, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
  await chmod(target, stats.mode & 0o7777)
  // the time is set last, so that a file that was copied only in part has another time than its source
  await utimes(target, stats.atime, stats.mtime)
}

/** Throws if an entry is not the same in both folders. */
export async function checkEntry(from: string, to: string, { path, kind }: TreeEntry): Promise<void> {
  const [source, target] = [join(from, path), join(to, path)]
  const isSame =
    kind === 'folder' ||
    (kind === 'link' ? (await readlink(source)) === (await readlink(target)) : (await hashOf(source)) === (await hashOf(target)))
  if (!isSame) throw new Failure('store.damaged', `${target} differs from ${source}: run the move again`)
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of createReadStream(file)) hash.update(piece as Buffer)
  return hash.digest('hex')
}
