import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import type { JsonObject } from '../../../core/json.ts'
import type { McpOAuth } from '../../../ports/mcp-configuration.ts'
import type { TokenFile } from './token-file.ts'

/** The way in which a person signs in. Without a visit, only stored tokens can be used and refreshed. */
export interface Visit {
  readonly redirectUrl: string
  readonly state: string
  open(address: URL): void
}

/** Stores the client and the tokens of a server in a file, for the functions of the MCP SDK. */
export function createOAuthProvider(file: TokenFile, { clientId, clientSecret, scope }: McpOAuth, visit?: Visit): OAuthClientProvider {
  let verifier = ''
  const known =
    clientId === undefined ? undefined : { client_id: clientId, ...(clientSecret !== undefined && { client_secret: clientSecret }) }
  return {
    // Without a redirect address, the SDK would request tokens without asking a person to sign in. Without `visit`, the address is only a
    // placeholder that no browser opens.
    redirectUrl: visit?.redirectUrl ?? 'http://127.0.0.1/sign-in-first',
    clientMetadata: {
      client_name: 'Daybook',
      redirect_uris: [visit?.redirectUrl ?? 'http://127.0.0.1/sign-in-first'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: clientSecret === undefined ? 'none' : 'client_secret_post',
      ...(scope !== undefined && { scope }),
    },
    ...(visit && { state: () => visit.state }),
    clientInformation: async () => known ?? ((await file.read()).client as never),
    saveClientInformation: (client) => file.update({ client: client as unknown as JsonObject }),
    tokens: async () => (await file.read()).tokens as never,
    saveTokens: (tokens) => file.update({ tokens: tokens as unknown as JsonObject }),
    redirectToAuthorization: (address) => visit?.open(address),
    saveCodeVerifier(code) {
      verifier = code
    },
    codeVerifier: () => verifier,
    async invalidateCredentials(what) {
      if (what === 'tokens' || what === 'all') await file.update({ tokens: undefined })
      if ((what === 'client' || what === 'all') && visit) await file.update({ client: undefined })
    },
  }
}
