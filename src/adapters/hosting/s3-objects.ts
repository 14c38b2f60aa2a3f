import { Failure } from '../../core/failure.ts'
import { checkKey, type ObjectStore, uriMapping } from './objects.ts'
import { createS3Requests, type S3Requests } from './s3-requests.ts'

/** Options of `createS3Objects`. */
export interface S3Options {
  /** The address of the server, such as `https://s3.eu-west-1.amazonaws.com`. The bucket becomes the first segment of the path. */
  readonly endpoint: string
  readonly bucket: string
  /** A text such as `team/daybook` that is put before every key. */
  readonly prefix?: string
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
  /** The number of keys per page of a listing. Default: the limit of the server. */
  readonly pageSize?: number
  /** The time limit in milliseconds for one attempt of a request, including its body. */
  readonly timeoutMs?: number
  /** The delay in milliseconds before the first retry. It doubles with each further retry. */
  readonly retryDelayMs?: number
}

const maxKeyBytes = 1024

/** An object store in a bucket of S3 or of a compatible server. */
export function createS3Objects(options: S3Options): ObjectStore {
  const prefix = options.prefix ? `${options.prefix.replace(/^\/+/, '').replace(/(?<!\/)\/+$/, '')}/` : ''
  const request = createS3Requests(options)

  function fullKey(key: string): string {
    checkKey(key)
    if (Buffer.byteLength(prefix + key) > maxKeyBytes) {
      throw new Failure('hosting.failed', `the storage key is longer than ${maxKeyBytes} bytes: give the file a shorter path`)
    }
    return prefix + key
  }

  const exists = async (key: string) => (await request({ method: 'HEAD', key: fullKey(key), missing: true })) !== undefined

  async function* list(tree: string): AsyncIterable<string> {
    const from = `${fullKey(tree)}/` // ends with a slash, so that `ab` is not listed for `a`
    if (await exists(tree)) yield tree
    let next: string | undefined
    do {
      const page = await listPage(request, { prefix: from, 'continuation-token': next, 'max-keys': options.pageSize?.toString() })
      yield* page.keys.filter((key) => key.startsWith(from)).map((key) => key.slice(prefix.length))
      next = page.next
    } while (next !== undefined)
  }

  const remove = async (key: string) => {
    await request({ method: 'DELETE', key: fullKey(key), missing: true })
  }

  return {
    ...uriMapping(`s3://${options.bucket}/${prefix}`),
    exists,
    list,
    async put(key, bytes) {
      await request({ method: 'PUT', key: fullKey(key), body: bytes })
    },
    get: async (key, range) => (await request({ method: 'GET', key: fullKey(key), missing: true, ...(range && { range }) }))?.body,
    delete: remove,
    async deleteTree(tree) {
      const keys: string[] = []
      for await (const key of list(tree)) keys.push(key)
      for (let at = 0; at < keys.length; at += 8) await Promise.all(keys.slice(at, at + 8).map(remove))
    },
  }
}

async function listPage(request: S3Requests, parameters: Readonly<Record<string, string | undefined>>) {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const query = { 'list-type': '2', 'encoding-type': 'url', ...Object.fromEntries(given) }
  return parseListPage(new TextDecoder().decode((await request({ method: 'GET', query }))?.body))
}

/**
 * Parses a page of ListObjectsV2. Requests ask for percent-encoded keys, because XML can not contain every character. Some servers ignore
 * this and send plain keys.
 */
function parseListPage(xml: string): { readonly keys: readonly string[]; readonly next: string | undefined } {
  if (!xml.includes('<ListBucketResult'))
    throw new Failure('hosting.failed', 'the answer to a list request is not a ListBucketResult: check the endpoint and the bucket')
  const isEncoded = elementOf('EncodingType', xml) === 'url'
  const keys = xml
    .split('<Contents>')
    .slice(1)
    .flatMap((entry) => elementOf('Key', entry) ?? [])
  const isTruncated = elementOf('IsTruncated', xml) === 'true'
  const next = elementOf('NextContinuationToken', xml)
  if (isTruncated && next === undefined)
    throw new Failure(
      'hosting.failed',
      'S3 returned an incomplete listing without a continuation token: check that the server supports ListObjectsV2',
    )
  return { keys: isEncoded ? keys.map(decodeKey) : keys, next: isTruncated ? next : undefined }
}

function elementOf(tag: string, xml: string): string | undefined {
  const start = xml.indexOf(`<${tag}>`)
  const end = start === -1 ? -1 : xml.indexOf(`</${tag}>`, start)
  return end === -1 ? undefined : decodeText(xml.slice(start + tag.length + 2, end))
}

const xmlEntities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' }

function decodeText(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(lt|gt|quot|apos|amp));/gi, (_, hex?: string, decimal?: string, name?: string) => {
    if (name !== undefined) return xmlEntities[name.toLowerCase()] ?? ''
    return String.fromCodePoint(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16))
  })
}

/** Decodes a percent-encoded key in which `+` stands for a space, as in HTML forms. */
const decodeKey = (key: string) => decodeURIComponent(key.replaceAll('+', ' '))
