import type { BearerSettings } from './auth/bearer.ts'

export interface ServerSettings {
  readonly host: string
  readonly port: number
  readonly auth: { readonly kind: 'local' } | ({ readonly kind: 'bearer' } & BearerSettings)
  /** Of a request without files, and of one with. */
  readonly maxBodyBytes: number
  readonly maxUploadBytes: number
  readonly requestsPerMinute: number
  readonly turnsPerMinute: number
  /** Of one user at the same time. */
  readonly runningTurns: number
  readonly followersPerUser: number
  readonly keepAliveMs: number
  /** How long the head of a request may take to arrive, and all of it. */
  readonly headersMs: number
  readonly requestMs: number
  /** How long running turns may take to finish when the server goes down; then the next process takes them up. */
  readonly drainMs: number
}

export const defaultServerSettings: ServerSettings = {
  host: '127.0.0.1',
  port: 4127,
  auth: { kind: 'local' },
  maxBodyBytes: 2 * 1024 * 1024,
  maxUploadBytes: 36 * 1024 * 1024,
  requestsPerMinute: 1_200,
  turnsPerMinute: 120,
  runningTurns: 32,
  followersPerUser: 200,
  keepAliveMs: 3_000,
  headersMs: 30_000,
  requestMs: 300_000,
  drainMs: 10_000,
}
