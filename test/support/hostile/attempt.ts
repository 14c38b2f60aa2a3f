import type { HostileFixture, Mode } from './fixture.ts'
import type { HostileRequest } from './send.ts'

/** A hostile request and the expected response. */
export interface Attempt {
  readonly description: string
  /** The server that gets the request. Default: both servers. */
  readonly mode?: Mode
  readonly request: (fixture: HostileFixture, mode: Mode) => HostileRequest | { readonly bytes: string | Uint8Array }
  readonly status: number
  /** The expected error code. Undefined when the request must succeed with a harmless response. */
  readonly code?: string
}

export const json = { 'content-type': 'application/json' }

export const get = (
  what: string,
  path: string | ((fixture: HostileFixture, mode: Mode) => string),
  status: number,
  code?: string,
): Attempt => ({
  description: what,
  request: (fixture, mode) => ({ path: typeof path === 'string' ? path : path(fixture, mode) }),
  status,
  ...(code !== undefined && { code }),
})

export const post = (what: string, path: string, body: string | Uint8Array, status: number, code: string): Attempt => ({
  description: what,
  request: () => ({ method: 'POST', path, headers: json, body }),
  status,
  code,
})
