// The package `daybook/adapters/blobs`: blob stores on disk and in memory. For S3 see `createObjectBlobs` of `daybook/adapters/hosting`.

export type { BlobStore, ListedBlobs, PutStreamOptions, StoredBlob, StreamingBlobs } from '../../ports/blobs.ts'
export { createFileBlobs } from './file.ts'
export { createMemoryBlobs } from './memory.ts'
