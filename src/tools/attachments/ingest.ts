import { createHash } from 'node:crypto'
import type { Attachment, BlobRef } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import type { BlobStore } from '../../ports/blobs.ts'
import type { DocumentReader } from '../../ports/documents.ts'
import { type FileFacts, inspect } from './inspect.ts'
import { type ReportProblem, type Scanner, type Summariser, scanFile, summariseFile } from './policy.ts'
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

/** How whoever runs the agent wants uploads to be treated. */
export interface AttachmentPolicy {
  readonly limits?: Partial<AttachmentLimits>
  /** Looks for malicious software. Without one nobody looks. */
  readonly scan?: Scanner
  /** A file that the scanner could not look at in time: refused unless this says otherwise. */
  readonly unscanned?: 'refuse' | 'accept'
  readonly summarise?: Summariser
}

export interface IngestPorts {
  readonly blobs: Pick<BlobStore, 'put' | 'has'> | undefined
  /** Takes back bytes that were put, unless somebody else needs them. */
  readonly releaseBlobs: (blobs: readonly BlobRef[]) => Promise<void>
  readonly documents: DocumentReader | undefined
  readonly policy: AttachmentPolicy
  readonly report: ReportProblem
}

/** What a message brings along, once all of it was found good and is kept. */
export interface IngestResult {
  readonly attachments: readonly Attachment[]
  /** What was not in the blob store before. */
  readonly written: readonly BlobRef[]
}

/**
 * All or nothing: everything is checked before anything is kept, and what a failing store has kept is let go again. Otherwise
 * `attachment.rejected`, whose `details.attachments` say of each bad file why.
 */
export async function ingest(
  message: { readonly text: string; readonly uploads: readonly Upload[] },
  ports: IngestPorts,
): Promise<IngestResult> {
  const limits = { ...defaultAttachmentLimits, ...ports.policy.limits }
  const files = message.uploads.map(copyUpload)
  const unfit = messageLimitRefusal(message.text, files, limits)
  if (unfit) throw rejectionFailure(files.map(({ name }) => rejectionOf(name, unfit)))
  const taken: AcceptedFile[] = []
  const rejections: Rejection[] = []
  for (const file of files) {
    const found = await checkFile(file, limits, ports) // one after the other: each may unpack a lot
    if (isRefusal(found)) rejections.push(rejectionOf(file.name, found))
    else taken.push({ ...file, ...found })
  }
  if (rejections.length > 0) throw rejectionFailure(rejections)
  const { kept, written } = await storeBlobs(taken, ports)
  const summaries = await Promise.all(taken.map((file) => summariseFile(ports.policy.summarise, file, ports.report)))
  const attachments = taken.map(({ given: _given, bytes, ...about }, index) => ({
    ...about,
    size_bytes: bytes.length,
    blob: kept[index] as BlobRef, // one for each
    ...(summaries[index] !== undefined && { summary: summaries[index] }),
  }))
  return { attachments, written }
}

type AcceptedFile = UploadedFile & FileFacts

interface UploadedFile {
  readonly name: string
  readonly given: Upload
  readonly bytes: Uint8Array
}

/** A copy: who sent it may go on writing to theirs. */
function copyUpload(given: Upload): UploadedFile {
  const bytes = typeof given.content === 'string' ? new TextEncoder().encode(given.content) : Uint8Array.from(given.content)
  return { name: safeName(given.name), given, bytes }
}

function messageLimitRefusal(text: string, files: readonly UploadedFile[], limits: AttachmentLimits): Refusal | undefined {
  const total = Buffer.byteLength(text) + files.reduce((sum, { bytes }) => sum + bytes.length, 0)
  if (files.length > limits.files) {
    return { reason: 'message_size_limit', words: `is one of ${files.length} files, and a message may bring at most ${limits.files}` }
  }
  if (total <= limits.messageBytes) return undefined
  const most = Math.floor(limits.messageBytes / 1024 / 1024)
  return { reason: 'message_size_limit', words: `came with a message of more than ${most} MiB in all. Send less at once` }
}

async function checkFile(
  { name, given, bytes }: UploadedFile,
  limits: AttachmentLimits,
  { policy, documents, report }: IngestPorts,
): Promise<FileFacts | Refusal> {
  if (bytes.length === 0) return { reason: 'empty', words: 'is empty' }
  if (isMisleading(given.name)) return refusal('misleading_name', 'has a name that reads differently from what it is. Give it another')
  try {
    const found = await inspect({ name, bytes, mime: given.mime }, limits, documents)
    if (isRefusal(found)) return found
    return (await scanFile(policy, bytes, report)) ?? found
  } catch (error) {
    report('attachment check', error)
    return { reason: 'preflight_error', words: 'could not be checked. Send it again later' }
  }
}

interface StoredBlobs {
  readonly kept: readonly BlobRef[]
  readonly written: readonly BlobRef[]
}

async function storeBlobs(files: readonly UploadedFile[], { blobs, releaseBlobs: letGo, report }: IngestPorts): Promise<StoredBlobs> {
  const kept: BlobRef[] = []
  const written: BlobRef[] = []
  for (const { name, bytes } of files) {
    if (!blobs)
      throw rejectionFailure([rejectionOf(name, { reason: 'store_missing', words: 'can not be kept: there is no store for files here' })])
    try {
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      if (!(await blobs.has(sha256))) written.push({ sha256, size: bytes.length })
      kept.push(await blobs.put(bytes))
    } catch (error) {
      await letGo(written).catch((second: unknown) => report('attachment clean-up', second))
      throw rejectionFailure([rejectionOf(name, { reason: 'store_error', words: 'could not be kept. Send the message again' })], error)
    }
  }
  return { kept, written }
}

const rejectionOf = (name: string, { reason, finding, words }: Refusal): Rejection => ({
  name,
  reason,
  ...(finding && { finding }),
  message: `${name} ${words}.`,
})

export function rejectionFailure(rejections: readonly Rejection[], cause?: unknown): Failure {
  const [first] = rejections
  const more = rejections.length > 1 ? ` And ${rejections.length - 1} more.` : ''
  return new Failure('attachment.rejected', `The message was not taken: ${first?.message}${more}`, {
    details: { attachments: rejections },
    cause,
  })
}
