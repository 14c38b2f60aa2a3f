// The package `daybook/adapters/workspace`: the files of each conversation, with the versions that its turns leave.

export type { BlobStore } from '../../ports/blobs.ts'
export type { Files } from '../../ports/files.ts'
export type { Workspaces } from '../../ports/workspace.ts'
export { createCustomWorkspaces, createMemoryWorkspaces, type MemoryWorkspacesOptions } from './custom/custom.ts'
export { createGitWorkspaces, type GitWorkspacesOptions } from './git/git.ts'
export type { FolderProvider, TemporaryFolder } from './workspace.ts'
