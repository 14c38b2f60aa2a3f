import { crc32 } from 'node:zlib'
import { parseJson } from '../../core/json.ts'
import { unsafeReason } from '../../core/path/safety.ts'
import type { SandboxLimits } from '../../ports/sandbox.ts'
import { readSmallEntry, readZip, type ZipEntry } from '../../tools/zip.ts'

/** What a program changed in the folders `out` and `work`, by paths such as `out/turn_1/files/a.txt`. */
export interface FolderChanges {
  readonly files: ReadonlyMap<string, Uint8Array>
  readonly folders: readonly string[]
  readonly removed: readonly string[]
}

/** The entry of an archive that lists the removed files and folders. */
export const removedName = 'removed.json'

/**
 * The compression of ZIP archives makes no data smaller by a greater factor than this. A greater ratio means that a size is false, or that
 * entries share their data in order to fill the memory.
 */
const maxRatio = 1_100
const [fileType, regularFile, folderType] = [0o170000, 0o100000, 0o40000]

/**
 * Reads an archive with changes. It comes from another machine that ran a hostile program, so nothing in it is trusted: neither names nor
 * sizes. Throws an error for the first thing that is wrong, before anything is written. `turn` is the only folder below `out` that may
 * have changed.
 */
export function readChanges(archive: Uint8Array, turn: string, limits: SandboxLimits): FolderChanges {
  const entries = readZip(archive)
  if (!entries) throw new Error('the archive is damaged')
  if (entries.length > limits.newFiles + 1) throw new Error(`the archive has more than ${limits.newFiles} entries`)
  const files = new Map<string, Uint8Array>()
  const folders = new Set<string>()
  let removed: readonly string[] = []
  let total = 0
  for (const entry of entries) {
    const content = contentOf(archive, entry, limits)
    total += content.length
    if (total > maxRatio * archive.length) throw new Error('the archive is compressed too much')
    if (total > limits.newBytes) throw new Error(`the files of the archive have more than ${limits.newBytes} bytes`)
    if (entry.name === removedName) removed = removedPaths(content.toString())
    else {
      const path = entry.name.endsWith('/') ? entry.name.slice(0, -1) : entry.name
      if (files.has(path) || folders.has(path)) throw new Error(`the archive has two entries ${show(path)}`)
      if (entry.name.endsWith('/')) folders.add(path)
      else files.set(path, content)
    }
  }
  for (const path of [...files.keys(), ...folders, ...removed]) checkPath(path, turn)
  return { files, folders: [...folders], removed }
}

/** The content of an entry. Throws if its type, size or checksum is not allowed or not correct. */
function contentOf(archive: Uint8Array, entry: ZipEntry, { fileBytes }: SandboxLimits): Buffer {
  const { name, size, packedSize, crc, encrypted, unixMode } = entry
  const type = unixMode & fileType
  if (type !== 0 && type !== (name.endsWith('/') ? folderType : regularFile)) throw new Error(`${show(name)} is a link or a special file`)
  if (encrypted) throw new Error(`${show(name)} is encrypted`)
  if (size > fileBytes) throw new Error(`${show(name)} has more than ${fileBytes} bytes`)
  if (size > maxRatio * Math.max(packedSize, 1)) throw new Error(`${show(name)} is compressed too much`)
  const content = readSmallEntry(archive, entry, size)
  if (!content || content.length !== size) throw new Error(`${show(name)} does not have the size that the archive says`)
  if (crc32(content) !== crc) throw new Error(`${show(name)} is damaged`)
  return content
}

function removedPaths(text: string): readonly string[] {
  const paths = parseJson(text)
  if (!Array.isArray(paths) || !paths.every((path) => typeof path === 'string')) throw new Error(`${removedName} is not a list of paths`)
  return paths
}

/** Throws unless the path is in the work folder or the folder of the turn. The attachments of the turn may not change. */
function checkPath(path: string, turn: string): void {
  const reason = unsafeReason(path)
  if (reason !== undefined) throw new Error(`${show(path)} is not a safe path: ${reason}`)
  const allowed = path.startsWith('work/') || path.startsWith(`out/${turn}/`)
  const attachments = `out/${turn}/attachments`
  if (!allowed || path === attachments || path.startsWith(`${attachments}/`)) throw new Error(`${show(path)} may not change`)
}

const show = (path: string) => JSON.stringify(path.slice(0, 200))
