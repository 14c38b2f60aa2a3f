import { type Client, createClient } from 'daybook/client'

const tokenKey = 'daybook.token'

/** The token of this tab. Session storage forgets it when the tab is closed. */
let token = sessionStorage.getItem(tokenKey) ?? undefined

export function setToken(value: string | undefined, keep: boolean): void {
  token = value
  if (value !== undefined && keep) sessionStorage.setItem(tokenKey, value)
  else sessionStorage.removeItem(tokenKey)
}

/** The header with the token. Undefined without a token. */
export const authorization = () => (token === undefined ? undefined : `Bearer ${token}`)

/** The folder `page` of the built files is below the address of the server. */
export const serverUrl = new URL(import.meta.env.DEV ? '/' : '..', import.meta.url).href

/** The client of the server that serves the page. */
export const client: Client = createClient({
  baseUrl: serverUrl,
  fetch: (input, init) => fetch(input, token === undefined ? init : withToken(init, token)),
})

function withToken(init: RequestInit | undefined, value: string): RequestInit {
  const headers = new Headers(init?.headers)
  headers.set('authorization', `Bearer ${value}`)
  return { ...init, headers }
}
