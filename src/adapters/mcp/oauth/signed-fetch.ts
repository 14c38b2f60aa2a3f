import type { McpOAuth } from '../../../ports/mcp-configuration.ts'
import { createOAuthProvider } from './provider.ts'
import type { TokenFile } from './token-file.ts'

/**
 * Makes a `fetch` that sends the stored access token. If the server refuses the token, it is refreshed. A refresh token can often be used
 * only once, so at most one process refreshes at a time. The other processes wait, and then use the new token.
 */
export function createSignedFetch(server: string, url: string, oauth: McpOAuth, file: TokenFile): typeof fetch {
  let refreshing: Promise<string> | undefined

  async function accessToken(): Promise<string | undefined> {
    const token = (await file.read()).tokens?.access_token
    return typeof token === 'string' ? token : undefined
  }

  /** Returns another token than the refused one: the stored token if it has changed, or else a refreshed one. */
  async function refresh(refused: string | undefined, response: Response): Promise<string> {
    return file.exclusively(async () => {
      const present = await accessToken()
      if (present !== undefined && present !== refused) return present // another process has refreshed the token already
      const { auth, extractWWWAuthenticateParams } = await import('@modelcontextprotocol/sdk/client/auth.js')
      const { resourceMetadataUrl } = extractWWWAuthenticateParams(response)
      const result = await auth(createOAuthProvider(file, oauth), {
        serverUrl: url,
        ...(oauth.scope !== undefined && { scope: oauth.scope }),
        ...(resourceMetadataUrl && { resourceMetadataUrl }),
      })
      const token = result === 'AUTHORIZED' ? await accessToken() : undefined
      if (token === undefined) throw new Error(`a person has to sign in first: daybook mcp sign-in ${server}`)
      return token
    })
  }

  return async (address, init) => {
    const token = await accessToken()
    const response = await fetch(address, withToken(init, token))
    if (response.status !== 401) return response
    await response.body?.cancel()
    refreshing ??= refresh(token, response).finally(() => {
      refreshing = undefined
    })
    return fetch(address, withToken(init, await refreshing))
  }
}

function withToken(init: RequestInit | undefined, token: string | undefined): RequestInit {
  const headers = new Headers(init?.headers)
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
  return { ...init, headers }
}
