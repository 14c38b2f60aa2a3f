import { readdir, readFile, stat, statfs } from 'node:fs/promises'
import { memoryFolders } from './layout.ts'

/*
 * Reads what the processes of a sandbox use. `root` is the root folder of the sandbox, seen from this machine: `/proc/<pid>/root`, where
 * `pid` is the id of the first process of the sandbox. The folder `/proc` in it lists exactly the processes of the sandbox. A program can
 * not replace the folders that are used here, because the root of a sandbox is read-only.
 */

/** What the processes of a sandbox use now. */
export interface Usage {
  readonly memoryBytes: number
  /** The files and folders in the file systems that are in memory. */
  readonly memoryEntries: number
}

/**
 * How much memory a sandbox uses. A first sum counts shared memory once for each process. If this sum is above `limit`, a second sum counts
 * shared memory only once.
 */
export async function readUsage(root: string, limit: number): Promise<Usage> {
  const folders = await Promise.all(memoryFolders.map((path) => statfs(`${root}${path}`).catch(() => undefined)))
  const folderBytes = folders.reduce((sum, each) => sum + (each ? (each.blocks - each.bfree) * each.bsize : 0), 0)
  const memoryEntries = folders.reduce((sum, each) => sum + (each ? each.files - each.ffree : 0), 0)
  const processes = await processesIn(root)
  const sumOf = async (file: string, name: string) => {
    const values = await Promise.all(processes.map(async (id) => kilobytes(await readText(`${root}/proc/${id}/${file}`), name)))
    return values.reduce((sum, each) => sum + each, 0) * 1024
  }
  const resident = await sumOf('status', 'VmRSS:')
  const memory = folderBytes + resident > limit ? await sumOf('smaps_rollup', 'Pss:') : resident
  return { memoryBytes: folderBytes + memory, memoryEntries }
}

/** The size of the files on disk that processes still use although their names were removed. Such files are in no folder. */
export async function unnamedFileBytes(root: string): Promise<number> {
  const sizes = new Map<string, number>()
  for (const id of await processesIn(root)) {
    const open = await readdir(`${root}/proc/${id}/fd`).catch(() => [])
    const files = await Promise.all(open.map((fd) => stat(`${root}/proc/${id}/fd/${fd}`).catch(() => undefined)))
    for (const file of files) if (file?.isFile() && file.nlink === 0) sizes.set(`${file.ino}`, Math.max(file.size, file.blocks * 512))
    for (const [inode, size] of unnamedMappings(await readText(`${root}/proc/${id}/maps`))) if (!sizes.has(inode)) sizes.set(inode, size)
  }
  return [...sizes.values()].reduce((sum, each) => sum + each, 0)
}

/**
 * The sizes of files in folders of the run that a process has mapped into its memory although their names were removed, by inode. A line of
 * `maps` is `start-end permissions offset device inode path (deleted)`.
 */
function unnamedMappings(maps: string): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>()
  if (!maps.includes(' (deleted)\n')) return sizes
  for (const line of maps.split('\n')) {
    if (!line.endsWith(' (deleted)') || !line.includes(' /daybook/')) continue
    const [range = '', , , , inode = ''] = line.split(' ')
    const [start = 0, end = 0] = range.split('-').map((text) => Number.parseInt(text, 16))
    sizes.set(inode, (sizes.get(inode) ?? 0) + end - start)
  }
  return sizes
}

const isNumber = (name: string) => name !== '' && [...name].every((digit) => digit >= '0' && digit <= '9')
const processesIn = async (root: string) => (await readdir(`${root}/proc`).catch(() => [])).filter(isNumber)

/** The text of a file about a process. Empty if the process has ended. */
const readText = (path: string) => readFile(path, 'latin1').catch(() => '')

/** The number in a line such as `VmRSS:     1234 kB`. */
function kilobytes(text: string, name: string): number {
  const at = text.startsWith(name) ? 0 : text.indexOf(`\n${name}`) + 1
  return at === 0 && !text.startsWith(name) ? 0 : Number.parseInt(text.slice(at + name.length).trimStart(), 10) || 0
}
