import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { McpAddress } from '../../../ports/mcp-configuration.ts'
import { createOAuthProvider } from './provider.ts'
import { createTokenFile } from './token-file.ts'

/**
 * Signs a person in to a server. `open` gets the address at which the person signs in. The server then sends the browser to a port of this
 * machine. Resolves when the tokens are stored.
 */
export async function signIn(
  { url, oauth }: McpAddress,
  tokenPath: string,
  open: (address: URL) => void,
  signal: AbortSignal,
): Promise<void> {
  const { auth } = await import('@modelcontextprotocol/sdk/client/auth.js')
  const file = createTokenFile(tokenPath)
  const options = typeof oauth === 'object' ? oauth : {}
  const state = randomBytes(16).toString('hex')
  const visit = await openVisit(state, options.redirectPort ?? 0)
  signal.addEventListener('abort', () => visit.fail(new Error('The sign-in was cancelled.')), { once: true })
  try {
    // The client is registered again, because its stored registration has the redirect address of an earlier sign-in, with another port.
    await file.update({ tokens: undefined, ...(options.clientId === undefined && { client: undefined }) })
    const provider = createOAuthProvider(file, options, { redirectUrl: visit.redirectUrl, state, open })
    const scope = options.scope === undefined ? {} : { scope: options.scope }
    if ((await auth(provider, { serverUrl: url, ...scope })) === 'AUTHORIZED') return
    const authorizationCode = await visit.code
    // Under the lock, no other process refreshes the tokens of the earlier sign-in. Otherwise that process could replace the new tokens.
    await file.exclusively(() => auth(provider, { serverUrl: url, ...scope, authorizationCode }))
  } finally {
    visit.close()
  }
}

/** Listens on a port of this machine, to which the server redirects the browser with a code. */
async function openVisit(state: string, port: number) {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  promise.catch(() => {}) // the sign-in may fail before the code is awaited
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1')
    const code = searchParams.get('code')
    const isOurs = searchParams.get('state') === state
    response
      .setHeader('content-type', 'text/plain; charset=utf-8')
      .end(isOurs ? 'You can close this page.' : 'This page is used only during a sign-in. You can close it.')
    if (isOurs && code !== null) resolve(code)
    else if (isOurs) reject(new Error(`The server did not sign you in: ${searchParams.get('error') ?? 'it gave no reason'}.`))
  })
  await new Promise<void>((ready, failed) => server.once('error', failed).listen(port, '127.0.0.1', ready))
  return {
    redirectUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`,
    code: promise,
    fail: reject,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
