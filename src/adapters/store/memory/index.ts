// The package `daybook/adapters/store/memory`: a store whose conversations are lost when the process ends.

export type { BlobStore } from '../../../ports/blobs.ts'
export type { Clock } from '../../../ports/clock.ts'
export type { ConversationStore } from '../../../ports/store.ts'
export { createMemoryStore } from './store.ts'
