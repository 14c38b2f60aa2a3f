import type { Scope } from '../../core/scope.ts'

/** Who is asking. Everything a request may reach follows from this, and from nothing in the request's path or body. */
export interface Caller {
  readonly scope: Scope
  readonly roles: readonly string[]
}

export interface RequestHead {
  readonly method: string
  readonly url: URL
  header(name: string): string | undefined
}

export type AuthResult =
  | { readonly ok: true; readonly caller: Caller }
  | { readonly ok: false; readonly status: 401 | 403; readonly code: string; readonly title: string }

/** Decides who is asking, or that nobody may. */
export type Authenticate = (head: RequestHead) => Promise<AuthResult>

export const deny = (status: 401 | 403, code: string, title: string): AuthResult => ({ ok: false, status, code, title })
