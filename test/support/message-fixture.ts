import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { Failure } from '../../src/core/failure.ts'
import type { BlobStore } from '../../src/ports/blobs.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { createHarness, type HarnessOptions } from '../../src/testing/harness.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import type { Rejection, Upload } from '../../src/tools/attachments/upload.ts'

/** A harness for messages with attachments. `names` are the hashes of the stored blobs. */
export function createMessageHarness(options: Partial<HarnessOptions> = {}) {
  const memory = createMemoryBlobs()
  const names = new Set<string>()
  const blobs: BlobStore = {
    ...memory,
    async put(bytes) {
      const ref = await memory.put(bytes)
      names.add(ref.sha256)
      return ref
    },
    async putStream(pieces, options) {
      const ref = await memory.putStream(pieces, options)
      names.add(ref.sha256)
      return ref
    },
    async remove(sha256) {
      names.delete(sha256)
      await memory.remove(sha256)
    },
  }
  const clock = createFixedClock()
  const store = options.store ?? createMemoryStore({ blobs, clock })
  const harness = createHarness({ replies: [reply.answer('Seen.'), reply.answer('Seen again.')], clock, store, ...options })
  const send = (input: string, attachments: readonly Upload[]) => harness.agent.run(harness.conversationId, input, { attachments }).result
  return { ...harness, names, send }
}

/** Waits until a message is rejected, and returns the reasons. Throws if the message is accepted. */
export async function rejectionsOf(sent: Promise<unknown>): Promise<readonly Rejection[]> {
  const error = await sent.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(error instanceof Failure) || error.code !== 'attachment.rejected') throw new Error(`was not rejected: ${error}`)
  return error.details.attachments as readonly Rejection[]
}

export const text = (name: string, content = name): Upload => ({ name, content })
