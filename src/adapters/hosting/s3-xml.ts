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
      // an object without a valid time is treated as new, so that it is not removed
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

/** An upload in parts that was neither completed nor removed. */
export interface UnfinishedUpload {
  readonly key: string
  readonly uploadId: string
  /** When it began, in epoch milliseconds. */
  readonly begunAt: number
}

/** Parses a page of ListMultipartUploads. `next` are the parameters of the request for the next page. */
export function parseUploadsPage(xml: string): {
  readonly uploads: readonly UnfinishedUpload[]
  readonly next: Readonly<Record<string, string>> | undefined
} {
  const isEncoded = elementOf('EncodingType', xml) === 'url'
  const textOf = (tag: string, part: string) => {
    const text = elementOf(tag, part) ?? ''
    return isEncoded && ['Key', 'NextKeyMarker'].includes(tag) ? decodeKey(text) : text
  }
  const uploads = xml
    .split('<Upload>')
    .slice(1)
    .map((part) => ({ key: textOf('Key', part), uploadId: textOf('UploadId', part), begunAt: Date.parse(textOf('Initiated', part)) }))
    .filter(({ key, uploadId, begunAt }) => key !== '' && uploadId !== '' && !Number.isNaN(begunAt))
  const next = { 'key-marker': textOf('NextKeyMarker', xml), 'upload-id-marker': textOf('NextUploadIdMarker', xml) }
  return { uploads, next: elementOf('IsTruncated', xml) === 'true' && next['key-marker'] !== '' ? next : undefined }
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
    const point = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
    return point > 0x10ffff ? '\ufffd' : String.fromCodePoint(point)
  })
}

/** Decodes a percent-encoded key in which `+` stands for a space, as in HTML forms. */
function decodeKey(key: string): string {
  try {
    return decodeURIComponent(key.replaceAll('+', ' '))
  } catch (error) {
    throw new Failure('hosting.failed', 'S3 listed a key that is not percent-encoded: check the endpoint', { cause: error })
  }
}

/** The body of the request that ends an upload. `etags` name its parts in order. */
export function completeUploadXml(etags: readonly string[]): string {
  const parts = etags.map((etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${encodeText(etag)}</ETag></Part>`)
  return `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`
}

const encodeText = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
