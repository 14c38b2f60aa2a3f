import { createMemoryFiles } from '../adapters/files/memory.ts'
import { createTemporaryFolder } from '../adapters/files/temporary.ts'
import { createMemoryWorkspaces } from '../adapters/workspace/custom/custom.ts'
import type { BlobStore } from '../ports/blobs.ts'
import type { Workspaces } from '../ports/workspace.ts'

/** Workspaces whose files are lost when the process ends. */
export const openMemoryWorkspaces = (blobs: BlobStore): Workspaces =>
  createMemoryWorkspaces({ blobs, createFiles: createMemoryFiles, openTemporary: createTemporaryFolder })
