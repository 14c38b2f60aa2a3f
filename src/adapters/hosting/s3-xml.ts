import { Failure } from '../../core/failure.ts'
import type { ObjectDetails } from './objects.ts'

// Reads and writes the XML of S3.

/**
 * Parses a page of ListObjectsV2. Requests ask for percent-encoded keys, because XML can not contain every character. Some servers ignore
 * this and send plain keys.
 */
export function parseListPage(xml: string): { readonly objects: readonly ObjectDetails[]; readonly next: string | undefined } {
  if (!xml.includes('<ListBucketResult'))
    throw new Failure('hosting.failed', 'the answer to a list request is not a ListBucketResult: check the endpoint and the bucket')
  const isEncoded = elementOf('EncodingType', xml) === 'url'
  const objects = xml
    .split('<Contents>')
    .slice(1)
    .flatMap((entry) => {
      const key = elementOf('Key', entry)
      const putAt = Date.parse(elementOf('LastModified', entry) ?? '')
      // an object without a valid time counts as new, so that it is not removed as an old one
      const details = { size: Number(elementOf('Size', entry) ?? 0), putAt: Number.isNaN(putAt) ? Number.POSITIVE_INFINITY : putAt }
      return key === undefined ? [] : [{ key: isEncoded ? decodeKey(key) : key, ...details }]
    })
  const isTruncated = elementOf('IsTruncated', xml) === 'true'
  const next = elementOf('NextContinuationToken', xml)
  if (isTruncated && next === undefined)
    throw new Failure(
      'hosting.failed',
      'S3 returned an incomplete listing without a continuation token: check that the server supports ListObjectsV2',
    )
  return { objects, next: isTruncated ? next : undefined }
}

/** The text of the first element with this name. */
export function elementOf(tag: string, xml: string): string | undefined {
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

/** The body of the request that ends an upload. `etags` name its parts in order. */
export function completeUploadXml(etags: readonly string[]): string {
  const parts = etags.map((etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${encodeText(etag)}</ETag></Part>`)
  return `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`
}

const encodeText = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
