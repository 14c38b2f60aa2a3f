import { Failure } from '../../core/failure.ts'
import type { Files } from '../../ports/files.ts'
import { isExcluded } from './names.ts'

export const filesFolder = (turnId: string): string => `${turnId}/files`

/** Everything a turn has below a folder, by its path below that folder. Dot-entries belong to it; what is never published does not. */
export async function listBelow(
  files: Files,
  folder: string,
): Promise<ReadonlyMap<string, { readonly size: number; readonly readOnly: boolean }>> {
  const listed = await files.list(folder, { dotEntries: true })
  if (listed.truncated) throw new Failure('workspace.failed', `${folder} holds more files than a workspace can keep`)
  return new Map(listed.files.map(({ path, size, readOnly }) => [path.slice(folder.length + 1), { size, readOnly }]))
}

export async function isEmpty(files: Files, folder: string): Promise<boolean> {
  return (await files.list(folder, { limit: 1, dotEntries: true })).files.length === 0
}

/** What would be published: without what never is, and without what can not be read. */
export async function readPublishable(files: Files, folder: string): Promise<ReadonlyMap<string, Uint8Array>> {
  return readFiles(
    files,
    folder,
    [...(await listBelow(files, folder)).keys()].filter((rel) => !isExcluded(rel)),
  )
}

/** Several at once: most of the time is waiting for the disk. */
const PARALLEL_READS = 16

/** By path below the folder, in the order asked for; without what can not be read. */
export async function readFiles(files: Files, folder: string, rels: readonly string[]): Promise<ReadonlyMap<string, Uint8Array>> {
  const read = new Map<string, Uint8Array | undefined>(rels.map((rel) => [rel, undefined]))
  const waiting = rels.values()
  const worker = async () => {
    for (const rel of waiting) read.set(rel, await readIfSafe(files, `${folder}/${rel}`))
  }
  await Promise.all(Array.from({ length: PARALLEL_READS }, worker))
  return new Map([...read].filter((each): each is [string, Uint8Array] => each[1] !== undefined))
}

/** Undefined also for what is no file of ours: a link, a pipe, a name that nobody may use. */
export async function readIfSafe(files: Files, path: string): Promise<Uint8Array | undefined> {
  try {
    return await files.read(path)
  } catch (error) {
    if (error instanceof Failure && error.code === 'file.unsafe' && error.details.reason !== 'too_large') return undefined
    throw error
  }
}
