import type { Attachment, BlobRef } from '../../core/block/index.ts'
import type { DocumentReader } from '../../ports/documents.ts'
import type { ConversationStore } from '../../ports/store.ts'
import { ingest } from '../../tools/attachments/ingest.ts'
import type { AttachmentPolicy } from '../../tools/attachments/policy.ts'
import type { Upload } from '../../tools/attachments/upload.ts'
import type { Problem } from '../agent-context.ts'

/** Checks and stores the attachments of a message before the message is delivered. */
interface Admission {
  /**
   * Messages to one conversation are delivered in the order in which they were sent, however long their files take to check. When
   * `deliver` fails, the blobs of the message are released.
   */
  admit<T>(
    conversationId: string,
    message: IncomingMessage,
    deliver: (attachments: readonly Attachment[]) => Promise<T>,
  ): Promise<AdmissionResult<T>>
}

export interface IncomingMessage {
  readonly text: string
  readonly uploads: readonly Upload[]
}

interface AdmissionResult<T> {
  readonly delivered: T
  /** Releases blobs of the message that the journal does not refer to. To be called when the message is journaled or was rejected. */
  releaseBlobs(): Promise<void>
}

interface AdmissionParts {
  readonly store: Pick<ConversationStore, 'blobs' | 'releaseBlobs'>
  readonly documents: DocumentReader | undefined
  readonly policy: AttachmentPolicy
  onProblem(problem: Problem): void
}

export function createAdmission({ store, documents, policy, onProblem }: AdmissionParts): Admission {
  /** By conversation, the last message that is not delivered yet. */
  const pending = new Map<string, Promise<unknown>>()
  const report = (where: string, error: unknown) => onProblem({ where, error })
  const releaseBlobs = (blobs: readonly BlobRef[]) => store.releaseBlobs(blobs)

  async function ingestAndDeliver<T>(
    { text, uploads }: IncomingMessage,
    deliver: (attachments: readonly Attachment[]) => Promise<T>,
  ): Promise<AdmissionResult<T>> {
    const { attachments, written } =
      uploads.length === 0
        ? noAttachments
        : await ingest({ text, uploads }, { blobs: store.blobs, releaseBlobs, documents, policy, report })
    const releaseWritten = async () => {
      if (written.length > 0) await releaseBlobs(written).catch((error: unknown) => report('attachment clean-up', error))
    }
    try {
      return { delivered: await deliver(attachments), releaseBlobs: releaseWritten }
    } catch (error) {
      await releaseWritten()
      throw error
    }
  }

  return {
    async admit(conversationId, message, deliver) {
      const before = pending.get(conversationId)
      if (!before && message.uploads.length === 0) return ingestAndDeliver(message, deliver)
      const delivery = (before ?? Promise.resolve()).then(() => ingestAndDeliver(message, deliver))
      const done = delivery.catch(() => {}).then(() => void (pending.get(conversationId) === done && pending.delete(conversationId)))
      pending.set(conversationId, done)
      return delivery
    },
  }
}

const noAttachments = { attachments: [], written: [] } as const
