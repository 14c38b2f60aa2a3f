/** `daybook/adapters/blobs`: where a store keeps bytes. For S3 see `createObjectBlobs` of `daybook/adapters/hosting`. */

export type { BlobStore } from '../../ports/blobs.ts'
export { createFileBlobs, type FileBlobs, type StoredBlob } from './file.ts'
export { createMemoryBlobs } from './memory.ts'
