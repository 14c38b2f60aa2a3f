// The package `daybook/adapters/store/postgres`: conversations in PostgreSQL.

export type { BlobStore } from '../../../ports/blobs.ts'
export type { Clock } from '../../../ports/clock.ts'
export type { Relay } from '../../../ports/store/relay.ts'
export type { ConversationStore } from '../../../ports/store.ts'
export type { DatabaseOptions } from './database.ts'
export { createPostgresStore, type PostgresSettings } from './store.ts'
