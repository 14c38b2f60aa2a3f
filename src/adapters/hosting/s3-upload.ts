import { Failure } from '../../core/failure.ts'
import type { LargeContent } from './objects.ts'
import type { S3Requests } from './s3-requests.ts'
import { completeUploadXml, elementOf, parseUploadsPage, type UnfinishedUpload } from './s3-xml.ts'

interface Upload {
  readonly key: string
  readonly ifMissing: boolean
  readonly partBytes: number
}

/** How many parts are sent at the same time, and how many if each part is first read into memory. */
const PARALLEL = { inMemory: 4, read: 2 }

/** The size of a part that is read into memory first, unless the object is so large that it would have too many parts. */
const READ_PART_BYTES = 8 * 1024 * 1024

/** S3 allows this number of parts per object. */
const MAX_PARTS = 10_000

/** Stores an object. A large object is sent in parts, so that after a lost connection only one part has to be sent again. */
export async function putObject(request: S3Requests, upload: Upload, bytes: Uint8Array): Promise<void> {
  const { key, ifMissing, partBytes } = upload
  if (bytes.length <= partBytes) await request({ method: 'PUT', key, body: bytes, ifMissing })
  else
    await putInParts(request, upload, { size: bytes.length, read: async ({ start, end }) => bytes.subarray(start, end) }, PARALLEL.inMemory)
}

/** Stores a large object, of which only a few parts are in memory at the same time. */
export async function putLargeObject(request: S3Requests, upload: Upload, content: LargeContent): Promise<void> {
  const partBytes = Math.max(Math.min(upload.partBytes, READ_PART_BYTES), Math.ceil(content.size / MAX_PARTS))
  if (content.size <= partBytes) await putObject(request, upload, await content.read({ start: 0, end: content.size }))
  else await putInParts(request, { ...upload, partBytes }, content, PARALLEL.read)
}

/**
 * The object appears when the last request, which names all parts, has succeeded. After a failure, or if the object exists already, the
 * parts are removed.
 */
async function putInParts(request: S3Requests, upload: Upload, { size, read }: LargeContent, parallel: number): Promise<void> {
  const { key, ifMissing, partBytes } = upload
  const begun = await request({ method: 'POST', key, query: { uploads: '' } })
  const uploadId = elementOf('UploadId', new TextDecoder().decode(begun?.body))
  if (uploadId === undefined) throw new Failure('hosting.failed', 'S3 began an upload without an UploadId: check the endpoint')
  const abort = () => request({ method: 'DELETE', key, query: { uploadId }, missing: true })
  try {
    const etags: string[] = []
    const parts = Array.from({ length: Math.ceil(size / partBytes) }, (_, index) => index)
    const sendPart = async (index: number) => {
      const body = await read({ start: index * partBytes, end: Math.min((index + 1) * partBytes, size) })
      const sent = await request({ method: 'PUT', key, query: { partNumber: `${index + 1}`, uploadId }, body })
      if (sent?.etag === undefined) throw new Failure('hosting.failed', 'S3 stored a part without an ETag: check the endpoint')
      etags[index] = sent.etag
    }
    for (let at = 0; at < parts.length; at += parallel) {
      const sending = parts.slice(at, at + parallel).map(sendPart)
      await Promise.allSettled(sending) // S3 would keep a part that arrives after the upload was aborted
      await Promise.all(sending)
    }
    const body = new TextEncoder().encode(completeUploadXml(etags))
    const ended = await request({ method: 'POST', key, query: { uploadId }, body, ifMissing, missing: true })
    // if the server does not know the upload, an earlier attempt may have completed it, and only its response was lost
    if (!ended && !(await request({ method: 'HEAD', key, missing: true })))
      throw new Failure('hosting.failed', 'S3 lost an upload before it was complete: try again')
    if (ended?.existed) await abort().catch(() => {}) // ignored: the object is stored, and `removeUploads` removes the parts later
  } catch (error) {
    await abort().catch(() => {}) // an error of this request is ignored, because the caller needs the first error
    throw error
  }
}

/**
 * Removes uploads of keys with this prefix that began before `before`. A killed process leaves the parts of its uploads. They belong to no
 * object, but they cost money.
 */
export async function removeUploads(request: S3Requests, prefix: string, before: number): Promise<void> {
  const old: UnfinishedUpload[] = []
  let next: Readonly<Record<string, string>> | undefined = {}
  while (next !== undefined) {
    const query = { uploads: '', prefix, 'encoding-type': 'url', ...next }
    const answer = await request({ method: 'GET', query, optional: true })
    const page = parseUploadsPage(new TextDecoder().decode(answer?.body))
    old.push(...page.uploads.filter(({ key, begunAt }) => key.startsWith(prefix) && begunAt < before))
    next = page.next
  }
  for (const { key, uploadId } of old) await request({ method: 'DELETE', key, query: { uploadId }, missing: true })
}
