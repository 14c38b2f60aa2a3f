import type { Mode, World } from './fixture.ts'
import type { Ask } from './send.ts'

/** One hostile request, and what it must be told. */
export interface Attempt {
  readonly what: string
  /** Both, when not said. */
  readonly mode?: Mode
  readonly ask: (world: World, mode: Mode) => Ask | { readonly bytes: string | Uint8Array }
  readonly status: number
  /** Undefined: it is answered, and the answer is harmless. */
  readonly code?: string
}

export const json = { 'content-type': 'application/json' }

export const get = (what: string, path: string | ((world: World, mode: Mode) => string), status: number, code?: string): Attempt => ({
  what,
  ask: (world, mode) => ({ path: typeof path === 'string' ? path : path(world, mode) }),
  status,
  ...(code !== undefined && { code }),
})

export const post = (what: string, path: string, body: string | Uint8Array, status: number, code: string): Attempt => ({
  what,
  ask: () => ({ method: 'POST', path, headers: json, body }),
  status,
  code,
})
