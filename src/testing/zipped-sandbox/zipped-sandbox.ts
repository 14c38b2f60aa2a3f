import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rm, rmdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createDiskFiles } from '../../adapters/files/index.ts'
import { checkProgram } from '../../adapters/sandbox/check-program.ts'
import { errorMessage } from '../../core/failure.ts'
import { unsafeReason } from '../../core/path/safety.ts'
import type { Sandbox, SandboxFolders, SandboxProgram, SandboxReport } from '../../ports/sandbox.ts'
import { readSmallEntry, readZip } from '../../tools/zip.ts'
import { type FolderChanges, readChanges, removedName } from './read-changes.ts'
import { writeZip, type ZipItem } from './write-zip.ts'

/**
 * Works like a sandbox on another machine. The folders are packed into a ZIP archive and unpacked elsewhere, and the program runs there. An
 * archive with the changed files is returned, and it is checked before any of its files is written. This sandbox shows that the port
 * `Sandbox` needs no shared disk.
 */
export function zippedSandbox(inner: Sandbox): Sandbox {
  return { languages: inner.languages, limits: inner.limits, run: (program) => runElsewhere(inner, program) }
}

async function runElsewhere(inner: Sandbox, program: SandboxProgram): Promise<SandboxReport> {
  await checkProgram(program, inner.languages)
  const sent = await packFolders(program.folders)
  const elsewhere = await mkdtemp(join(tmpdir(), 'daybook-elsewhere-'))
  try {
    await unpack(sent, elsewhere)
    const context = Object.keys(program.folders.context).map((name) => [name, join(elsewhere, 'context', name)])
    const folders = { ...program.folders, out: join(elsewhere, 'out'), work: join(elsewhere, 'work'), context: Object.fromEntries(context) }
    const report = await inner.run({ ...program, folders })
    const problem = await mergeChanges(await packChanges(sent, folders), program.folders, inner)
    return problem === undefined ? report : { ...report, end: { kind: 'not_started', message: problem } }
  } finally {
    await rm(elsewhere, { recursive: true, force: true })
  }
}

/** Writes the changes to the folders on this machine. If the archive is rejected, writes nothing and returns the reason. */
export async function mergeChanges(archive: Uint8Array, folders: SandboxFolders, { limits }: Sandbox): Promise<string | undefined> {
  try {
    await applyChanges(readChanges(archive, folders.turn, limits), folders)
    return undefined
  } catch (error) {
    return `the files of the program were rejected: ${errorMessage(error)}`
  }
}

async function applyChanges({ files, folders: made, removed }: FolderChanges, folders: SandboxFolders): Promise<void> {
  const roots = { out: createDiskFiles({ folder: folders.out }), work: createDiskFiles({ folder: folders.work }) }
  const split = (path: string) => {
    const root = path.startsWith('out/') ? 'out' : 'work'
    return { files: roots[root], path: path.slice(root.length + 1), onDisk: join(folders[root], path.slice(root.length + 1)) }
  }
  for (const path of made) await mkdir(split(path).onDisk, { recursive: true })
  for (const [path, bytes] of files) await split(path).files.write(split(path).path, bytes)
  for (const path of [...removed].sort((a, b) => b.length - a.length)) {
    const target = split(path)
    const isFile = await target.files.remove(target.path).catch(() => false) // a folder can not be removed as a file
    if (!isFile) await rmdir(target.onDisk).catch(() => {}) // a folder that still has files of another kind stays
  }
}

/** An archive of the folders of a program, with the paths `out/…`, `work/…` and `context/…`. */
async function packFolders({ out, work, context }: SandboxFolders): Promise<Buffer> {
  const contextItems = Object.entries(context).map(async ([name, path]) => ({
    name: `context/${name}`,
    content: (await createDiskFiles({ folder: dirname(path) }).read(path.slice(dirname(path).length + 1))) ?? new Uint8Array(),
  }))
  return writeZip([...(await itemsBelow(out, 'out')), ...(await itemsBelow(work, 'work')), ...(await Promise.all(contextItems))])
}

/** Packs the files that differ from the files in `sent`, the archive that the program got. */
async function packChanges(sent: Buffer, { out, turn, work }: SandboxFolders): Promise<Buffer> {
  const before = new Map((readZip(sent) ?? []).map((entry) => [entry.name, entry]))
  const now = [...(await itemsBelow(join(out, turn), `out/${turn}`)), ...(await itemsBelow(work, 'work'))]
  const names = new Set(now.map(({ name }) => name))
  const changed = now.filter(({ name, content }) => {
    const entry = before.get(name)
    return entry === undefined || entry.size !== content.length || hash(readSmallEntry(sent, entry, entry.size)) !== hash(content)
  })
  const isOurs = (name: string) => name.startsWith('work/') || name.startsWith(`out/${turn}/`)
  const removed = [...before.keys()]
    .filter((name) => isOurs(name) && !names.has(name))
    .map((name) => (name.endsWith('/') ? name.slice(0, -1) : name))
  const list = removed.length === 0 ? [] : [{ name: removedName, content: Buffer.from(JSON.stringify(removed)) }]
  return writeZip([...changed.filter(({ name }) => name !== 'work/' && name !== `out/${turn}/`), ...list])
}

const hash = (bytes: Uint8Array | undefined) =>
  createHash('sha256')
    .update(bytes ?? new Uint8Array())
    .digest('hex')

/** The files and folders below a folder. Links, pipes, devices and entries with unsafe names are left out. */
async function itemsBelow(folder: string, prefix: string): Promise<readonly ZipItem[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = createDiskFiles({ folder })
  const items: ZipItem[] = [{ name: `${prefix}/`, content: new Uint8Array() }]
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name).slice(folder.length + 1)
    if (unsafeReason(path) !== undefined) continue
    if (entry.isDirectory()) items.push({ name: `${prefix}/${path}/`, content: new Uint8Array() })
    const content = entry.isFile() ? await files.read(path) : undefined
    if (content) items.push({ name: `${prefix}/${path}`, content })
  }
  return items
}

/** Unpacks an archive that this process made. */
async function unpack(archive: Buffer, folder: string): Promise<void> {
  for (const entry of readZip(archive) ?? []) {
    const path = join(folder, entry.name)
    await mkdir(entry.name.endsWith('/') ? path : dirname(path), { recursive: true })
    if (!entry.name.endsWith('/')) await writeFile(path, readSmallEntry(archive, entry, entry.size) ?? '')
  }
}
