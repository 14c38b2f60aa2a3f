import { type Client, createClient } from 'daybook/client'

/** Whether the server asks for a token that the page does not have. */
export interface SessionState {
  readonly needsToken: boolean
  /** How often a person has signed in. After each sign-in, the whole page is rendered again. */
  readonly signIns: number
}

const tokenKey = 'daybook.token'

/** The token of this tab. Session storage is cleared when the tab is closed. */
let token = sessionStorage.getItem(tokenKey) ?? undefined
let state: SessionState = { needsToken: false, signIns: 0 }
const listeners = new Set<() => void>()

function change(next: Partial<SessionState>): void {
  state = { ...state, ...next }
  for (const listener of listeners) listener()
}

export const session = {
  subscribe(listener: () => void): () => void {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  },
  get: () => state,
}

/** Uses this token for all further requests. With `keep`, the tab still has the token after a reload. */
export function signIn(value: string, keep: boolean): void {
  token = value
  if (keep) sessionStorage.setItem(tokenKey, value)
  else sessionStorage.removeItem(tokenKey)
  change({ needsToken: false, signIns: state.signIns + 1 })
}

/** The code of a sign-in link. It is after the `#` in the address. */
let signInCode = new URLSearchParams(location.hash.slice(1)).get('code') ?? undefined

/** Removes the code of a sign-in link from the address and returns it. Undefined if the page was opened without such a link. */
export function takeSignInCode(): string | undefined {
  const code = signInCode
  if (code !== undefined) history.replaceState(history.state, '', location.pathname + location.search)
  signInCode = undefined
  return code
}

/** Whether the server accepts a token. */
export async function isAccepted(value: string): Promise<boolean> {
  const response = await fetch(new URL('v1/conversations?limit=1', serverUrl), { headers: { authorization: `Bearer ${value}` } })
  return response.ok
}

/** Forgets the token. The page then asks for another one. */
export function signOut(): void {
  token = undefined
  sessionStorage.removeItem(tokenKey)
  change({ needsToken: true })
}

/** The header with the token. Undefined without a token. */
export const authorization = () => (token === undefined ? undefined : `Bearer ${token}`)

/** The address of the server. The built files of the page are in the folder `page` below it. */
export const serverUrl = new URL(import.meta.env.DEV ? '/' : '..', import.meta.url).href

/** The client of the server that serves the page. */
export const client: Client = createClient({
  baseUrl: serverUrl,
  async fetch(input, init) {
    const headers = new Headers(init?.headers)
    const bearer = authorization()
    if (bearer !== undefined) headers.set('authorization', bearer)
    const response = await fetch(input, { ...init, headers })
    // ignored if the token has changed since the request was sent: a response to the old token may arrive after the sign-in
    if (response.status === 401 && bearer === authorization()) change({ needsToken: true })
    return response
  },
})
