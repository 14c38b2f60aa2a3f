import type { Attachment, BlobRef } from '../../core/block/index.ts'
import type { DocumentReader } from '../../ports/documents.ts'
import type { ConversationStore } from '../../ports/store.ts'
import { ingest } from '../../tools/attachments/ingest.ts'
import type { AttachmentPolicy } from '../../tools/attachments/policy.ts'
import type { Upload } from '../../tools/attachments/upload.ts'
import type { Problem } from '../agent-context.ts'

/** Checks and stores the attachments of messages before the messages are delivered. */
interface Admission {
  /**
   * Returns when the message may be delivered. Messages to one conversation are delivered in the order in which they were sent, however
   * long the check of their files takes. A message without files is admitted at once, unless an earlier message is not delivered yet.
   */
  admit(conversationId: string, message: IncomingMessage): AdmittedMessage | Promise<AdmittedMessage>
}

export interface IncomingMessage {
  readonly text: string
  readonly uploads: readonly Upload[]
}

/** A message that may be delivered now. The caller must call `done` after the delivery, whether it succeeded or failed. */
export interface AdmittedMessage {
  readonly attachments: readonly Attachment[]
  /** Removes the blobs of the message that the journal does not refer to. Called when the message is journaled or was rejected. */
  releaseBlobs(): Promise<void>
  /** Lets the next message of the conversation be delivered. */
  done(): void
}

interface AdmissionParts {
  readonly store: Pick<ConversationStore, 'blobs' | 'releaseBlobs'>
  readonly documents: DocumentReader | undefined
  readonly policy: AttachmentPolicy
  onProblem(problem: Problem): void
}

export function createAdmission({ store, documents, policy, onProblem }: AdmissionParts): Admission {
  /** For each conversation, a promise that resolves when the latest message sent to it is delivered. */
  const pending = new Map<string, Promise<void>>()
  const report = (where: string, error: unknown) => onProblem({ where, error })
  const releaseBlobs = (blobs: readonly BlobRef[]) => store.releaseBlobs(blobs)

  /** Puts a message at the end of the queue of its conversation. Returns a function that removes it from the queue. */
  function enqueue(conversationId: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    pending.set(conversationId, promise)
    return () => {
      if (pending.get(conversationId) === promise) pending.delete(conversationId)
      resolve()
    }
  }

  async function admitAfter(before: Promise<void> | undefined, message: IncomingMessage, done: () => void): Promise<AdmittedMessage> {
    await before
    try {
      if (message.uploads.length === 0) return { ...withoutFiles, done }
      const { attachments, written } = await ingest(message, { blobs: store.blobs, releaseBlobs, documents, policy, report })
      const releaseWritten = async () => {
        if (written.length > 0) await releaseBlobs(written).catch((error: unknown) => report('attachment clean-up', error))
      }
      return { attachments, releaseBlobs: releaseWritten, done }
    } catch (error) {
      done()
      throw error
    }
  }

  return {
    admit(conversationId, message) {
      const before = pending.get(conversationId)
      if (!before && message.uploads.length === 0) return withoutFiles
      return admitAfter(before, message, enqueue(conversationId))
    },
  }
}

const withoutFiles: AdmittedMessage = { attachments: [], releaseBlobs: async () => {}, done: () => {} }
