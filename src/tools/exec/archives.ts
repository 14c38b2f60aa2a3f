import { Readable } from 'node:stream'
import { hasBytesAt, zlib } from '../bytes.ts'
import { extensionOf } from '../mime.ts'

import { locateData, readZip, type ZipEntry } from '../zip.ts'
import type { FileProblem } from './check-file.ts'
import { readTar, type TarEntry } from './tar.ts'

/**
 * Why an archive is not delivered to the user. The path of an entry must not lead out of the folder into which a user unpacks the archive,
 * and an entry must not be a file of the runtime or of the system. An archive is recognised by its content. The result is undefined for a
 * file that is not an archive, and for an archive whose entries are all allowed.
 */
export async function archiveProblem(name: string, bytes: Uint8Array): Promise<FileProblem | undefined> {
  const entries = readZip(bytes)
  if (entries && (entries.length > 0 || hasBytesAt(bytes, 0, 'PK'))) return zipProblem(bytes, entries)
  if (isTar(bytes)) return tarProblem(readTar([bytes]))
  if (hasBytesAt(bytes, 0, '\x1f\x8b')) return gzipProblem(bytes)
  return unsupported.has(extensionOf(name)) ? invalid('archives of this kind can not be checked: make a .zip or a .tar.gz') : undefined
}

/**
 * Extensions of archives. A file with such a name is refused if its content is not zip, tar or gzip, because this code can not read other
 * kinds of archives. `tar`, `tgz` and `gz` are in the list because a file may have such a name but other content.
 */
const unsupported: ReadonlySet<string> = new Set(['tar', 'tgz', 'gz', '7z', 'rar', 'xz', 'bz2', 'txz', 'tbz2', 'zst', 'lzma', 'cab', 'iso'])

const invalid = (message: string): FileProblem => ({ code: 'artifact_invalid', message })
const blocked = (message: string): FileProblem => ({ code: 'artifact_internal_path_blocked', message })

function zipProblem(bytes: Uint8Array, entries: readonly ZipEntry[]): FileProblem | undefined {
  if (entries.length === 0) return invalid('the archive is empty')
  for (const entry of entries) {
    const local = locateData(bytes, entry)?.nameBytes
    if (local && !local.equals(entry.nameBytes)) return blocked(`the archive gives two names to the entry ${printable(entry.name)}`)
    const problem = entryProblem(entry.name) ?? (isLinkMode(entry.unixMode) ? linkProblem(entry.name) : undefined)
    if (problem) return problem
  }
  return undefined
}

const isLinkMode = (mode: number) => (mode & 0o170000) === 0o120000

/** Whether the bytes begin like a tar archive. */
const isTar = (bytes: Uint8Array) => hasBytesAt(bytes, 257, 'ustar')

/** The greatest unpacked size of a compressed archive. A larger archive would take too long to check. */
const maxUnpackedBytes = 1024 * 1024 * 1024

/** A gzip file may contain a tar archive or any other single file. Only a tar archive has entries to check. */
async function gzipProblem(bytes: Uint8Array): Promise<FileProblem | undefined> {
  const unpacked = Readable.from([bytes]).pipe(zlib().createGunzip())
  const head = { bytes: Buffer.alloc(0) }
  let size = 0
  async function* chunks() {
    for await (const chunk of unpacked as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > maxUnpackedBytes) throw new RangeError('too large')
      if (head.bytes.length < 512) head.bytes = Buffer.concat([head.bytes, chunk.subarray(0, 512)])
      yield chunk
    }
  }
  try {
    const problem = await tarProblem(readTar(chunks()))
    return isTar(head.bytes) ? problem : undefined
  } catch (error) {
    return invalid(error instanceof RangeError ? 'the archive is too large to be checked' : 'the archive is damaged')
  } finally {
    unpacked.destroy()
  }
}

async function tarProblem(entries: AsyncIterable<TarEntry>): Promise<FileProblem | undefined> {
  let count = 0
  let found: FileProblem | undefined
  for await (const entry of entries) {
    if (entry === 'damaged') return found ?? invalid('the archive is damaged')
    count++
    found ??= entryProblem(entry.name) ?? tarTypeProblem(entry)
  }
  return found ?? (count === 0 ? invalid('the archive is empty') : undefined)
}

function tarTypeProblem({ name, type, link }: Exclude<TarEntry, 'damaged'>): FileProblem | undefined {
  if (type === 'link') return leadsOut(link) ? linkProblem(name) : undefined
  return type === 'device' ? blocked(`the archive has a device: ${printable(name)}`) : undefined
}

const linkProblem = (name: string) => blocked(`the archive has a link that may lead out of it: ${printable(name)}`)

function entryProblem(name: string): FileProblem | undefined {
  const path = name.replaceAll('\\', '/')
  if (leadsOut(path)) return blocked(`the archive has an entry outside of its own folder: ${printable(name)}`)
  const [top = '', second] = path.split('/').filter((part) => part !== '' && part !== '.')
  if (runtimeNames.has(top) || (top === 'logs' && second !== undefined && runtimeLogs.has(second)))
    return blocked(`the archive has a file of the runtime: ${printable(name)}`)
  return systemNames.has(top) ? blocked(`the archive has a folder of the system: ${printable(name)}`) : undefined
}

function leadsOut(name: string): boolean {
  const path = name.replaceAll('\\', '/')
  return path.startsWith('/') || path.charAt(1) === ':' || path.split('/').includes('..')
}

const runtimeNames: ReadonlySet<string> = new Set(['timeline.json', 'sources_pool.json', 'tool_calls', 'executed_programs'])
const runtimeLogs: ReadonlySet<string> = new Set(['user.log', 'infra.log'])
const systemNames: ReadonlySet<string> = new Set(['proc', 'sys', 'dev', 'etc', 'root', 'run'])

const printable = (name: string) => JSON.stringify(name.slice(0, 120))
