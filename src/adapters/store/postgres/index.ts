export { createPostgresStore, type PostgresSettings } from './store.ts'
