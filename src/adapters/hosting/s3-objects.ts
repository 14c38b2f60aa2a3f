import { Failure } from '../../core/failure.ts'
import { checkKey, type ObjectDetails, type ObjectStore, uriMapping } from './objects.ts'
import { createS3Requests, type S3Requests } from './s3-requests.ts'
import { putLargeObject, putObject, removeUploads } from './s3-upload.ts'
import { parseListPage } from './s3-xml.ts'

/** Options of `createS3Objects`. */
export interface S3Options {
  /** The address of the server, such as `https://s3.eu-west-1.amazonaws.com`. */
  readonly endpoint: string
  readonly bucket: string
  /**
   * Whether the bucket becomes the first segment of the path (`path`, the default), or is put before the host name of the endpoint
   * (`host`), as in `https://<bucket>.s3.eu-west-1.amazonaws.com`. Some services require `host`.
   */
  readonly addressing?: 'path' | 'host'
  /** A text such as `team/daybook` that is put before every key. */
  readonly prefix?: string
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
  /** The number of keys per page of a listing. Default: the limit of the server. */
  readonly pageSize?: number
  /**
   * An object with more bytes than this is sent in parts of this many bytes. S3 allows parts of 5 MiB to 5 GiB, and at most 10,000 parts
   * per object. Default: 16 MiB.
   */
  readonly partBytes?: number
  /** The time limit in milliseconds for one attempt of a request, including its body. */
  readonly timeoutMs?: number
  /** The delay in milliseconds before the first retry. It doubles with each further retry. */
  readonly retryDelayMs?: number
}

const maxKeyBytes = 1024

/**
 * The time limit in milliseconds for the deletion of one object. While a store removes a blob, appends with blobs wait. A deletion that was
 * repeated later could remove a blob that was stored again meanwhile.
 */
const DELETE_MS = 3_000

/**
 * The time limit in milliseconds for the question whether an object exists. The PostgreSQL store asks it in a transaction, for which other
 * appends with blobs may wait.
 */
const EXISTS_MS = 3_000

/** An object store in a bucket of S3 or of a compatible server. */
export function createS3Objects(options: S3Options): ObjectStore {
  const prefix = options.prefix ? `${options.prefix.replace(/^\/+/, '').replace(/(?<!\/)\/+$/, '')}/` : ''
  const request = createS3Requests(options)
  const partBytes = options.partBytes ?? 16 * 1024 * 1024

  function fullKey(key: string): string {
    checkKey(key)
    if (Buffer.byteLength(prefix + key) > maxKeyBytes) {
      throw new Failure('hosting.failed', `the storage key is longer than ${maxKeyBytes} bytes: give the file a shorter path`)
    }
    return prefix + key
  }

  const isStored = async (key: string, limit: { readonly withinMs?: number } = {}) =>
    (await request({ method: 'HEAD', key: fullKey(key), missing: true, ...limit })) !== undefined

  async function* listDetails(tree: string): AsyncIterable<ObjectDetails> {
    const from = `${fullKey(tree)}/` // ends with a slash, so that `ab` is not listed for `a`
    let next: string | undefined
    do {
      const page = await listPage(request, { prefix: from, 'continuation-token': next, 'max-keys': options.pageSize?.toString() })
      for (const object of page.objects) if (object.key.startsWith(from)) yield { ...object, key: object.key.slice(prefix.length) }
      next = page.next
    } while (next !== undefined)
  }

  async function* list(tree: string): AsyncIterable<string> {
    if (await isStored(tree)) yield tree
    for await (const { key } of listDetails(tree)) yield key
  }

  const remove = async (key: string, limit: { readonly withinMs?: number } = {}) => {
    await request({ method: 'DELETE', key: fullKey(key), missing: true, ...limit })
  }

  return {
    ...uriMapping(`s3://${options.bucket}/${prefix}`),
    exists: (key) => isStored(key, { withinMs: EXISTS_MS }),
    list,
    listDetails,
    async putAt(key) {
      const found = await request({ method: 'HEAD', key: fullKey(key), missing: true })
      return found && (found.modifiedAt ?? Number.POSITIVE_INFINITY)
    },
    put: async (key, bytes, { ifMissing = false } = {}) => putObject(request, { key: fullKey(key), ifMissing, partBytes }, bytes),
    putLarge: async (key, content, { ifMissing = false } = {}) =>
      putLargeObject(request, { key: fullKey(key), ifMissing, partBytes }, content),
    get: async (key, range) => (await request({ method: 'GET', key: fullKey(key), missing: true, ...(range && { range }) }))?.body,
    removeUnfinished: (tree, before) => removeUploads(request, `${fullKey(tree)}/`, before),
    delete: (key) => remove(key, { withinMs: DELETE_MS }),
    async deleteTree(tree) {
      const keys: string[] = []
      for await (const key of list(tree)) keys.push(key)
      for (let at = 0; at < keys.length; at += 8) await Promise.all(keys.slice(at, at + 8).map((key) => remove(key)))
    },
  }
}

async function listPage(request: S3Requests, parameters: Readonly<Record<string, string | undefined>>) {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const query = { 'list-type': '2', 'encoding-type': 'url', ...Object.fromEntries(given) }
  return parseListPage(new TextDecoder().decode((await request({ method: 'GET', query }))?.body))
}
