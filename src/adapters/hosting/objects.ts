import { Failure } from '../../core/failure.ts'
import { unsafeReason } from '../../core/path/safety.ts'
import type { ByteRange } from '../../ports/blobs.ts'

/** Stores bytes under keys such as `a/b/c`. Every function throws `file.unsafe` for an unsafe key. */
export interface ObjectStore {
  /**
   * Stores bytes under a key, completely or not at all. The bytes are durable when the promise resolves. With `ifMissing`, the caller knows
   * that an existing object has the same bytes, so the store need not replace it.
   */
  put(key: string, bytes: Uint8Array, options?: { readonly ifMissing?: boolean }): Promise<void>
  /**
   * Stores a large content as `put` does, without having it in memory as a whole. A store without this function gets the whole content with
   * `put`.
   */
  putLarge?(key: string, content: LargeContent, options?: { readonly ifMissing?: boolean }): Promise<void>
  /** The bytes under a key, or a part of them; undefined when there is no such object. */
  get(key: string, range?: ByteRange): Promise<Uint8Array | undefined>
  exists(key: string): Promise<boolean>
  /** Lists the key `tree` itself and the keys below it. `a/b` is below `a`; `ab` is not. */
  list(tree: string): AsyncIterable<string>
  /** Lists the keys below `tree`, with the size and the time of each object. A store that does not know the times lacks this function. */
  listDetails?(tree: string): AsyncIterable<ObjectDetails>
  /** Removes the parts of unfinished puts below `tree` that began before `before`, in epoch milliseconds. */
  removeUnfinished?(tree: string, before: number): Promise<void>
  /** When the object was last put, in epoch milliseconds; undefined when there is no such object. */
  putAt?(key: string): Promise<number | undefined>
  delete(key: string): Promise<void>
  /** Deletes the keys that `list` returns, one by one. If the process dies meanwhile, another call deletes the remaining keys. */
  deleteTree(tree: string): Promise<void>
  /** The URI of a key, such as `s3://<bucket>/<key>`. For stores on disk and in memory it is `file:///<key>` and `memory:///<key>`. */
  uriOf(key: string): string
  /** The inverse of `uriOf`. Undefined for a URI that `uriOf` of this store does not return. */
  keyOf(uri: string): string | undefined
}

/** Bytes that are read in parts, for example from a file. */
export interface LargeContent {
  readonly size: number
  /** The bytes of a range. The same range may be read again. */
  read(range: ByteRange): Promise<Uint8Array>
}

/** The size and the time of an object. */
export interface ObjectDetails {
  readonly key: string
  readonly size: number
  /** When the object was last put, in epoch milliseconds. */
  readonly putAt: number
}

/** Throws `file.unsafe` for an unsafe key. A model may read the message, so the message does not contain the key. */
export function checkKey(key: string): void {
  const reason = unsafeReason(key)
  if (reason !== undefined) throw new Failure('file.unsafe', `the storage key ${reason}`, { details: { reason: 'unsafe_path' } })
}

type ObjectFunctions = Omit<ObjectStore, 'uriOf' | 'keyOf'>

/** Adds `checkKey` to the functions of an object store that does not check its keys. */
export function withCheckedKeys(objects: ObjectFunctions): ObjectFunctions {
  const checked =
    <A extends readonly unknown[], R>(work: (key: string, ...rest: A) => Promise<R>) =>
    async (key: string, ...rest: A) => {
      checkKey(key)
      return work(key, ...rest)
    }
  return {
    put: checked(objects.put),
    get: checked(objects.get),
    exists: checked(objects.exists),
    delete: checked(objects.delete),
    deleteTree: checked(objects.deleteTree),
    list(tree) {
      checkKey(tree)
      return objects.list(tree)
    },
  }
}

export const isInTree = (tree: string) => (key: string) => key === tree || key.startsWith(`${tree}/`)

/**
 * Makes `uriOf` and `keyOf` for URIs with this prefix. Segments are percent-encoded. `keyOf` accepts only the encoding that `uriOf` uses.
 */
export function uriMapping(prefix: string): Pick<ObjectStore, 'uriOf' | 'keyOf'> {
  const uriOf = (key: string) => prefix + key.split('/').map(encodeURIComponent).join('/')
  return {
    uriOf,
    keyOf(uri) {
      if (!uri.startsWith(prefix)) return undefined
      const key = tryDecode(uri.slice(prefix.length))
      return key !== undefined && unsafeReason(key) === undefined && uriOf(key) === uri ? key : undefined
    },
  }
}

function tryDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined // invalid percent-encoding
  }
}
