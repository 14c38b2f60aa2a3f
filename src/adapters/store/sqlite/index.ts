// The package `daybook/adapters/store/sqlite`: a store with all conversations in one SQLite file.

export type { ConversationStore } from '../../../ports/store.ts'
export { createSqliteStore, type SqliteSettings } from './store.ts'
