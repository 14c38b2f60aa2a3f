import { createObjectBlobs } from '../adapters/hosting/blobs-in-objects.ts'
import type { ObjectStore } from '../adapters/hosting/objects.ts'
import { createS3Objects } from '../adapters/hosting/s3-objects.ts'
import type { ListedBlobs } from '../ports/blobs.ts'
import type { BucketOptions } from './store.ts'

/** The blobs in the bucket of the settings. Undefined when no bucket is set. */
export function openBucketBlobs(s3: BucketOptions | undefined): ListedBlobs | undefined {
  const objects = openBucket(s3)
  return objects && createObjectBlobs({ objects })
}

/** The bucket of the settings. Undefined when no bucket is set. Throws a `RangeError` when a required setting of the bucket is missing. */
export function openBucket({
  bucket,
  endpoint,
  region = 'us-east-1',
  addressing = 'path',
  ...rest
}: BucketOptions = {}): ObjectStore | undefined {
  const { accessKeyId, secretAccessKey, prefix, sessionToken } = rest
  const names = Object.entries({ endpoint, ...rest }).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  if (bucket === undefined && names.length > 0) throw new RangeError(`s3.${names[0]} is set, but s3.bucket is not: set DAYBOOK_S3_BUCKET`)
  if (bucket === undefined) return undefined
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw new RangeError('s3.bucket needs credentials: set DAYBOOK_S3_ACCESS_KEY_ID and DAYBOOK_S3_SECRET_ACCESS_KEY')
  return createS3Objects({
    bucket,
    endpoint: endpoint ?? `https://s3.${region}.amazonaws.com`,
    region,
    addressing,
    accessKeyId,
    secretAccessKey,
    ...(prefix !== undefined && { prefix }),
    ...(sessionToken !== undefined && { sessionToken }),
  })
}
