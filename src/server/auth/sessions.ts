import { createHash, randomBytes } from 'node:crypto'
import { localScope } from '../../core/scope.ts'
import { type Authenticate, type Caller, deny, operatorRole } from './authenticate.ts'

const codeMs = 3_600_000
const sessionMs = 12 * 3_600_000
/** The beginning of a session token. No JSON Web Token begins like this. */
const prefix = 'session_'

/**
 * Sessions of the person who has started the server. The server prints a link with a code, and the page exchanges the code for a token. A
 * code can be used once. Tokens are kept in memory, so they are invalid after the process has ended.
 */
export interface Sessions {
  /** A new code. It is valid for an hour. */
  createCode(): string
  /** A token for a code. Undefined when the code is wrong, was used before or is too old. */
  exchange(code: string): { readonly token: string; readonly expiresAtMs: number } | undefined
  /** The caller with this token. Undefined when no session has this token. */
  callerOf(token: string): Caller | undefined
}

export function createSessions(nowMs: () => number): Sessions {
  // Only hashes are kept and compared, so the time of a comparison reveals nothing about a code or token.
  const codes = new Map<string, number>()
  const sessions = new Map<string, number>()
  return {
    createCode() {
      const code = newSecret()
      codes.set(hash(code), nowMs() + codeMs)
      return code
    },
    exchange(code) {
      const key = hash(code)
      const validUntil = codes.get(key)
      codes.delete(key)
      if (validUntil === undefined || validUntil < nowMs()) return undefined
      const token = `${prefix}${newSecret()}`
      const expiresAtMs = nowMs() + sessionMs
      sessions.set(hash(token), expiresAtMs)
      return { token, expiresAtMs }
    },
    callerOf(token) {
      const expiresAtMs = sessions.get(hash(token))
      if (expiresAtMs === undefined || expiresAtMs < nowMs()) return undefined
      return { scope: localScope, roles: [operatorRole], expiresAtMs }
    },
  }
}

/** Accepts the tokens of sessions, and everything that `authenticate` accepts. */
export function withSessions(authenticate: Authenticate, sessions: Pick<Sessions, 'callerOf'>): Authenticate {
  return async (head) => {
    const header = head.header('authorization') ?? ''
    const token = header.startsWith(`Bearer ${prefix}`) ? header.slice('Bearer '.length) : undefined
    if (token === undefined) return authenticate(head)
    const caller = sessions.callerOf(token)
    return caller ? { ok: true, caller } : deny(401, 'token.refused', 'The session has ended; sign in again.')
  }
}

/** Whether a request exchanges a code for a token. Such a request has no token yet. */
export const isSignIn = ({ method, path }: { readonly method: string; readonly path: string }) =>
  method === 'POST' && path === '/v1/session'

/**
 * The caller of requests that exchange a code. This caller owns no conversation and has no role. All these requests share one rate limit.
 */
export const signInCaller: Caller = { scope: { tenant: 'sign-in', project: 'sign-in', user: 'sign-in' }, roles: [] }

const newSecret = () => randomBytes(32).toString('base64url')
const hash = (text: string) => createHash('sha256').update(text).digest('hex')
