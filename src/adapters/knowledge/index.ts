// The package `daybook/adapters/knowledge`: a knowledge base of folders with documents.

export type * from '../../ports/knowledge.ts'
export type { FolderList } from '../../ports/skills.ts'
export type { KnowledgeFolder, LeftOut } from './folder.ts'
export { namedFolders } from './folder.ts'
export type { YamlParser } from './front-matter.ts'
export type { ListedDocument } from './index-file.ts'
export type { IndexProgress, IndexReport } from './indexer.ts'
export { type FolderKnowledge, type KnowledgeOptions, openKnowledge } from './knowledge.ts'
export type { DocumentReaders } from './read-document.ts'
