import type { Attachment, BlobRef } from '../../core/block/index.ts'
import { parseConversationKey, userKey } from '../../core/scope.ts'
import type { DocumentReader } from '../../ports/documents.ts'
import type { ConversationStore } from '../../ports/store.ts'
import { ingest } from '../../tools/attachments/ingest.ts'
import type { AttachmentPolicy } from '../../tools/attachments/policy.ts'
import type { Upload } from '../../tools/attachments/upload.ts'
import type { Problem } from '../agent-context.ts'

/** Checks and stores the attachments of messages before the messages are delivered. */
interface Admission {
  /**
   * Checks and stores the attached files of a message. The result is available when the message may be delivered. Messages to one
   * conversation are delivered in the order in which they were sent, even if the check of one message takes long. A message without files
   * waits only if an earlier message is not delivered yet.
   */
  admit(conversationId: string, message: IncomingMessage): AdmittedMessage | Promise<AdmittedMessage>
}

export interface IncomingMessage {
  readonly text: string
  readonly uploads: readonly Upload[]
}

/** A message that may be delivered now. After the delivery has succeeded or failed, the caller must call `done`. */
export interface AdmittedMessage {
  readonly attachments: readonly Attachment[]
  /**
   * Removes the blobs of the message, except those to which the journal refers. Called if the delivery failed, or if the message had no
   * effect because its event id was used before.
   */
  releaseBlobs(): Promise<void>
  /** Allows the next message of the conversation to be delivered. */
  done(): void
}

interface AdmissionParts {
  readonly store: Pick<ConversationStore, 'blobs' | 'releaseBlobs'>
  readonly documents: DocumentReader | undefined
  policy(): AttachmentPolicy
  onProblem(problem: Problem): void
}

export function createAdmission({ store, documents, policy, onProblem }: AdmissionParts): Admission {
  /** For each conversation: a promise that resolves when the latest message to this conversation has been delivered. */
  const pending = new Map<string, Promise<void>>()
  const report = (where: string, error: unknown) => onProblem({ where, error })
  const releaseBlobs = (blobs: readonly BlobRef[]) => store.releaseBlobs(blobs)

  /** Puts a message at the end of the queue of its conversation. Returns a function that removes the message from the queue. */
  function enqueue(conversationId: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    pending.set(conversationId, promise)
    return () => {
      if (pending.get(conversationId) === promise) pending.delete(conversationId)
      resolve()
    }
  }

  async function admitAfter(before: Promise<void> | undefined, conversationId: string, message: IncomingMessage): Promise<AdmittedMessage> {
    const done = enqueue(conversationId)
    await before
    try {
      if (message.uploads.length === 0) return { ...withoutFiles, done }
      const { attachments, written } = await ingest(message, {
        blobs: store.blobs,
        releaseBlobs,
        documents: documents && forUser(documents, userKey(parseConversationKey(conversationId).scope)),
        policy: policy(),
        report,
      })
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
      return admitAfter(before, conversationId, message)
    },
  }
}

/** A reader that reads documents of this user. */
const forUser = (documents: DocumentReader, user: string): DocumentReader => ({
  pdf: (bytes, options) => documents.pdf(bytes, { ...options, user }),
})

const withoutFiles: AdmittedMessage = { attachments: [], releaseBlobs: async () => {}, done: () => {} }
