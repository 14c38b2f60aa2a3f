/** `daybook/adapters/store/sqlite`: conversations in one SQLite file. */

export type { ConversationStore } from '../../../ports/store.ts'
export { createSqliteStore, type SqliteSettings } from './store.ts'
