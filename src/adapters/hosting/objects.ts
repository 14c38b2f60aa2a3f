import { Failure } from '../../core/failure.ts'
import { unsafeReason } from '../../core/path/safety.ts'

/** Bytes under keys: `a/b/c`, relative to the store. Every key is checked again here; one that is not safe is refused, never mended. */
export interface ObjectStore {
  /** As a whole or not at all, durable before it resolves. */
  put(key: string, bytes: Uint8Array): Promise<void>
  /** Undefined when nothing is there. */
  get(key: string): Promise<Uint8Array | undefined>
  exists(key: string): Promise<boolean>
  /** Every key of a tree: the key itself, and those below it. `a` is not in the tree of `ab`, nor the other way round. */
  list(tree: string): AsyncIterable<string>
  delete(key: string): Promise<void>
  /** May be cut short by a crash; doing it again removes the rest. */
  deleteTree(tree: string): Promise<void>
  /** What a key is called outside; the address of the store is part of it unless it is this machine's. */
  uriOf(key: string): string
  /** The inverse; undefined for any other spelling, and for what lies in another store. */
  keyOf(uri: string): string | undefined
}

/** Keys are not told: what fails here may be read by a model. */
export function checkKey(key: string): void {
  const reason = unsafeReason(key)
  if (reason !== undefined) throw new Failure('file.unsafe', `the storage key ${reason}`, { details: { reason: 'unsafe_path' } })
}

export const isInTree = (tree: string) => (key: string) => key === tree || key.startsWith(`${tree}/`)

/** Both ways of `uriOf` and `keyOf`, for keys below a fixed beginning. Each segment is encoded once; only that one spelling is read. */
export function uriMapping(beginning: string): Pick<ObjectStore, 'uriOf' | 'keyOf'> {
  const uriOf = (key: string) => beginning + key.split('/').map(encodeURIComponent).join('/')
  return {
    uriOf,
    keyOf(uri) {
      if (!uri.startsWith(beginning)) return undefined
      const key = tryDecode(uri.slice(beginning.length))
      return key !== undefined && unsafeReason(key) === undefined && uriOf(key) === uri ? key : undefined
    },
  }
}

function tryDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined // not written by us
  }
}
