// The package `daybook/adapters/hosting`: hosted files and blobs, in memory, on disk or in S3.

export type { BlobStore, ListedBlobs, PutStreamOptions, StoredBlob, StreamingBlobs } from '../../ports/blobs.ts'
export type { Files } from '../../ports/files.ts'
export type { Hosting } from '../../ports/hosting.ts'
export { createObjectBlobs } from './blobs-in-objects.ts'
export { createFileObjects } from './file-objects.ts'
export { createHosting } from './hosting.ts'
export { createMemoryObjects } from './memory-objects.ts'
export type { LargeContent, ObjectDetails, ObjectStore } from './objects.ts'
export { createS3Objects, type S3Options } from './s3-objects.ts'
