import { createHosting } from '../../src/adapters/hosting/hosting.ts'
import { createMemoryObjects } from '../../src/adapters/hosting/memory-objects.ts'
import type { BlobStore } from '../../src/ports/blobs.ts'
import type { Hosting, NewFile } from '../../src/ports/hosting.ts'

/** A hosting in memory that records the hosted files. */
export function hostingOn(blobs: BlobStore): { readonly hosting: Hosting; readonly hosted: readonly NewFile[] } {
  const real = createHosting({ objects: createMemoryObjects(), blobs })
  const hosted: NewFile[] = []
  return {
    hosted,
    hosting: {
      ...real,
      async host(file) {
        const handles = await real.host(file)
        hosted.push(file)
        return handles
      },
    },
  }
}
