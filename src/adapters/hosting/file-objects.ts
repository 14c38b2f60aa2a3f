import { Failure } from '../../core/failure.ts'
import type { Files } from '../../ports/files.ts'
import { checkKey, type ObjectStore, uriMapping } from './objects.ts'

/**
 * Stores objects in files. Both `a` and `a/b` may be keys, but a path can not be a file and a folder. Therefore each object is a file named
 * `=` in a folder named by its key. A segment of a key that begins with `=` gets a second `=`. URIs are relative to the store and contain
 * no absolute path.
 */
export function createFileObjects({ files }: { readonly files: Files }): ObjectStore {
  return {
    ...uriMapping('file:///'),
    put: async (key, bytes) => files.write(fileOf(key), bytes),
    async get(key, range) {
      const bytes = await files.read(fileOf(key), { maxBytes: Number.MAX_SAFE_INTEGER })
      return range ? bytes?.slice(range.start, range.end) : bytes
    },
    exists: async (key) => (await files.stat(fileOf(key))) !== undefined,
    async *list(tree) {
      const { files: found, truncated } = await files.list(folderOf(tree), { dotEntries: true })
      for (const { path } of found) if (path.endsWith('/=')) yield keyOfFile(path)
      if (truncated) throw new Failure('hosting.failed', 'there are more objects in this tree than can be listed: list a smaller tree')
    },
    async delete(key) {
      await files.remove(fileOf(key))
    },
    async deleteTree(tree) {
      const { files: some, truncated } = await files.list(folderOf(tree), { dotEntries: true, limit: 1 })
      if (some.length > 0 || truncated) await files.replaceFolder(folderOf(tree), new Map())
    },
  }
}

function folderOf(key: string): string {
  checkKey(key)
  return key.replace(/(^|\/)=/g, '$1==')
}

const fileOf = (key: string) => `${folderOf(key)}/=`
export const keyOfFile = (path: string) => path.slice(0, -'/='.length).replace(/(^|\/)==/g, '$1=')
