import type { Attachment, BlobRef } from '../../core/block/index.ts'
import type { DocumentReader } from '../../ports/documents.ts'
import type { ConversationStore } from '../../ports/store.ts'
import { ingest } from '../../tools/attachments/ingest.ts'
import type { AttachmentPolicy } from '../../tools/attachments/policy.ts'
import type { Upload } from '../../tools/attachments/upload.ts'
import type { Problem } from '../agent-context.ts'

/** The door that messages come in by. What they bring along is checked and kept before anything of them is entered. */
export interface Admission {
  /**
   * Messages to one conversation are delivered in the order in which they were sent, however long their files take to check. A message
   * whose delivery fails leaves no bytes behind.
   */
  admit<T>(
    conversation: string,
    message: IncomingMessage,
    deliver: (attachments: readonly Attachment[]) => Promise<T>,
  ): Promise<AdmissionResult<T>>
}

export interface IncomingMessage {
  readonly text: string
  readonly uploads: readonly Upload[]
}

export interface AdmissionResult<T> {
  readonly delivered: T
  /** What nobody came to need after all goes. Safe at any time once the message was entered, or when it never will be. */
  releaseBlobs(): Promise<void>
}

interface AdmissionParts {
  readonly store: Pick<ConversationStore, 'blobs' | 'releaseBlobs'>
  readonly documents: DocumentReader | undefined
  readonly policy: AttachmentPolicy
  onProblem(problem: Problem): void
}

export function createAdmission({ store, documents, policy, onProblem }: AdmissionParts): Admission {
  /** The last message of a conversation that is still at the door. */
  const atDoor = new Map<string, Promise<unknown>>()
  const report = (where: string, error: unknown) => onProblem({ where, error })
  const letGo = (blobs: readonly BlobRef[]) => store.releaseBlobs(blobs)

  async function pass<T>(
    { text, uploads }: IncomingMessage,
    deliver: (attachments: readonly Attachment[]) => Promise<T>,
  ): Promise<AdmissionResult<T>> {
    const { attachments, written } =
      uploads.length === 0
        ? noAttachments
        : await ingest({ text, uploads }, { blobs: store.blobs, releaseBlobs: letGo, documents, policy, report })
    const takeBack = async () => {
      if (written.length > 0) await letGo(written).catch((error: unknown) => report('attachment clean-up', error))
    }
    try {
      return { delivered: await deliver(attachments), releaseBlobs: takeBack }
    } catch (error) {
      await takeBack()
      throw error
    }
  }

  return {
    async admit(conversation, message, deliver) {
      const before = atDoor.get(conversation)
      if (!before && message.uploads.length === 0) return pass(message, deliver)
      const passing = (before ?? Promise.resolve()).then(() => pass(message, deliver))
      const gone = passing.catch(() => {}).then(() => void (atDoor.get(conversation) === gone && atDoor.delete(conversation)))
      atDoor.set(conversation, gone)
      return passing
    },
  }
}

const noAttachments = { attachments: [], written: [] } as const
