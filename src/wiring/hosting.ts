import { join } from 'node:path'
import { createDiskFiles } from '../adapters/files/disk.ts'
import { removeEmptyFolders } from '../adapters/files/remove-folder.ts'
import { createFileObjects } from '../adapters/hosting/file-objects.ts'
import { createHosting } from '../adapters/hosting/hosting.ts'
import { createMemoryObjects } from '../adapters/hosting/memory-objects.ts'
import { uriMapping, withCheckedKeys } from '../adapters/hosting/objects.ts'
import { ownerPrefixes } from '../core/path/resource-name.ts'
import type { BlobStore } from '../ports/blobs.ts'
import type { Hosting } from '../ports/hosting.ts'
import { openBucket } from './bucket.ts'
import type { HostingPlace } from './store.ts'

/** Opens the hosting at a place. `blobs` must be the blobs of the store to which the place belongs. */
export function openHosting({ s3, folder, objects }: HostingPlace, blobs: BlobStore): Hosting {
  const hosting = createHosting({ objects: openBucket(s3) ?? inDatabase(objects) ?? inFolder(folder) ?? createMemoryObjects(), blobs })
  return {
    ...hosting,
    async removeFolders(owner) {
      if (folder !== undefined) for (const prefix of ownerPrefixes(owner)) await removeEmptyFolders(join(folder, prefix))
    },
  }
}

const inDatabase = (objects: HostingPlace['objects']) => objects && { ...uriMapping('postgres:///'), ...withCheckedKeys(objects) }
const inFolder = (folder: string | undefined) =>
  folder === undefined ? undefined : createFileObjects({ files: createDiskFiles({ folder }) })
