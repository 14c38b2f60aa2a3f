import { createHash } from 'node:crypto'
import type { Attachment, BlobRef } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { caps } from '../../core/render/caps.ts'
import { oneLine } from '../../core/render/text.ts'
import type { BlobStore } from '../../ports/blobs.ts'
import type { DocumentReader } from '../../ports/documents.ts'
import { decodeText, isTextMime } from '../mime.ts'
import { type FileFacts, inspect } from './inspect.ts'
import { type AttachmentPolicy, type ReportProblem, scanFile, summariseFile } from './policy.ts'
import {
  type AttachmentLimits,
  defaultAttachmentLimits,
  isMisleading,
  isRefusal,
  type Refusal,
  type Rejection,
  refusal,
  safeName,
  type Upload,
} from './upload.ts'

export interface IngestPorts {
  readonly blobs: Pick<BlobStore, 'put' | 'has'> | undefined
  /** Removes blobs that were just stored. Blobs that another conversation uses are kept. */
  readonly releaseBlobs: (blobs: readonly BlobRef[]) => Promise<void>
  readonly documents: DocumentReader | undefined
  readonly policy: AttachmentPolicy
  readonly report: ReportProblem
}

/** The stored attachments of a message. */
interface IngestResult {
  readonly attachments: readonly Attachment[]
  /** The blobs that were not in the store before. */
  readonly written: readonly BlobRef[]
}

/**
 * Checks and stores the attachments of a message, all or none. All files are checked before the first one is stored. If storing fails, the
 * stored blobs are removed. Throws `attachment.rejected`; its `details.attachments` name each rejected file and the reason.
 */
export async function ingest(
  message: { readonly text: string; readonly uploads: readonly Upload[] },
  ports: IngestPorts,
): Promise<IngestResult> {
  const limits = { ...defaultAttachmentLimits, ...ports.policy.limits }
  const files = message.uploads.map(copyUpload)
  const limitRefusal = messageLimitRefusal(message.text, files, limits)
  if (limitRefusal) throw rejectionFailure(files.map(({ name }) => rejectionOf(name, limitRefusal)))
  const accepted: AcceptedFile[] = []
  const rejections: Rejection[] = []
  for (const file of files) {
    // Files are checked one after the other, because a file may unpack to many megabytes.
    const result = await checkFile(file, limits, ports)
    if (isRefusal(result)) rejections.push(rejectionOf(file.name, result))
    else accepted.push({ ...file, ...result })
  }
  if (rejections.length > 0) throw rejectionFailure(rejections)
  const { stored, written } = await storeBlobs(accepted, ports)
  const summaries = await Promise.all(accepted.map((file) => summariseFile(ports.policy.summarise, file, ports.report)))
  const attachments = accepted.map(({ upload: _upload, bytes, ...facts }, index) => ({
    ...facts,
    size_bytes: bytes.length,
    blob: stored[index] as BlobRef, // every file was stored
    ...(summaries[index] !== undefined && { summary: summaries[index] }),
    ...(isTextMime(facts.mime) && { snippet: oneLine(decodeText(bytes) ?? '', caps.sourceSnippet) }),
  }))
  return { attachments, written }
}

type AcceptedFile = UploadedFile & FileFacts

interface UploadedFile {
  /** The file name, made safe for use in a path. */
  readonly name: string
  readonly upload: Upload
  readonly bytes: Uint8Array
}

/** Copies the bytes, because the caller may change its buffer while the file is checked. */
function copyUpload(upload: Upload): UploadedFile {
  const bytes = typeof upload.content === 'string' ? new TextEncoder().encode(upload.content) : Uint8Array.from(upload.content)
  return { name: safeName(upload.name), upload, bytes }
}

function messageLimitRefusal(text: string, files: readonly UploadedFile[], limits: AttachmentLimits): Refusal | undefined {
  const total = Buffer.byteLength(text) + files.reduce((sum, { bytes }) => sum + bytes.length, 0)
  if (files.length > limits.files) {
    return { reason: 'message_size_limit', words: `is one of ${files.length} files, and a message may have at most ${limits.files}` }
  }
  if (total <= limits.messageBytes) return undefined
  const mebibytes = Math.floor(limits.messageBytes / 1024 / 1024)
  return { reason: 'message_size_limit', words: `is part of a message of more than ${mebibytes} MiB. Send less in one message` }
}

async function checkFile(
  { name, upload, bytes }: UploadedFile,
  limits: AttachmentLimits,
  { policy, documents, report }: IngestPorts,
): Promise<FileFacts | Refusal> {
  if (bytes.length === 0) return { reason: 'empty', words: 'is empty' }
  if (isMisleading(upload.name)) return refusal('misleading_name', 'has a name that is displayed differently from what it is. Rename it')
  try {
    const facts = await inspect({ name, bytes, mime: upload.mime }, limits, documents)
    if (isRefusal(facts)) return facts
    return (await scanFile(policy, bytes, report)) ?? facts
  } catch (error) {
    report('attachment check', error)
    return { reason: 'preflight_error', words: 'could not be checked. Send it again later' }
  }
}

interface StoredBlobs {
  readonly stored: readonly BlobRef[]
  readonly written: readonly BlobRef[]
}

async function storeBlobs(files: readonly UploadedFile[], { blobs, releaseBlobs, report }: IngestPorts): Promise<StoredBlobs> {
  const stored: BlobRef[] = []
  const written: BlobRef[] = []
  for (const { name, bytes } of files) {
    if (!blobs)
      throw rejectionFailure([rejectionOf(name, { reason: 'store_missing', words: 'can not be stored: this agent has no file store' })])
    try {
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      if (!(await blobs.has(sha256))) written.push({ sha256, size: bytes.length })
      stored.push(await blobs.put(bytes))
    } catch (error) {
      await releaseBlobs(written).catch((second: unknown) => report('attachment clean-up', second))
      throw rejectionFailure([rejectionOf(name, { reason: 'store_error', words: 'could not be stored. Send the message again' })], error)
    }
  }
  return { stored, written }
}

const rejectionOf = (name: string, { reason, finding, words }: Refusal): Rejection => ({
  name,
  reason,
  ...(finding && { finding }),
  message: `${name} ${words}.`,
})

/** The failure that `ingest` throws for a rejected message. Its message names the first rejected file. Its details name all of them. */
export function rejectionFailure(rejections: readonly Rejection[], cause?: unknown): Failure {
  const [first] = rejections
  const more = rejections.length > 1 ? ` And ${rejections.length - 1} more.` : ''
  return new Failure('attachment.rejected', `The message was rejected: ${first?.message}${more}`, {
    details: { attachments: rejections },
    cause,
  })
}
