// The package `daybook/adapters/files`: folders that untrusted programs may write to, on disk or in memory.

export type { Files } from '../../ports/files.ts'
export { createDiskFiles } from './disk.ts'
export { createMemoryFiles } from './memory.ts'
export { createTemporaryFolder } from './temporary.ts'
