import type { AddressInfo } from 'node:net'
import { createApp } from './app.ts'
import { createLocalAuth } from './auth/authenticate.ts'
import { createBearerAuth } from './auth/bearer.ts'
import type { ServerParts } from './handler.ts'
import { listen } from './listen.ts'

export interface RunningServer {
  readonly url: string
  /** No new requests; followers are told; running turns get their time and are then left to the next process. */
  drain(): Promise<void>
}

/** Listens, and takes up what was left behind. On the loopback without tokens; anywhere else it needs them. */
export async function serve(parts: Omit<ServerParts, 'shutdown'>): Promise<RunningServer> {
  const { settings, agent, log } = parts
  if (settings.auth.kind === 'local' && !loopbackHosts.has(settings.host)) {
    throw new RangeError(`without tokens the server listens on 127.0.0.1 only, not on ${settings.host}: configure auth to open it`)
  }
  const going = new AbortController()
  const authenticate = settings.auth.kind === 'local' ? createLocalAuth() : await createBearerAuth(settings.auth)
  const app = createApp({ ...parts, shutdown: going.signal }, authenticate)
  const server = await listen(app, { ...settings, log })
  const takeUp = () => agent.recover().catch((error: unknown) => log('error', 'recover.failed', { error }))
  void takeUp()
  const again = setInterval(takeUp, leaseMs) // turns of a process that died elsewhere are free when its leases are over
  again.unref()

  const { port } = server.address() as AddressInfo
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host
  return {
    url: `http://${host}:${port}`,
    async drain() {
      clearInterval(again)
      going.abort()
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      const sweep = setInterval(() => server.closeIdleConnections(), 20) // who has heard the last word may still hold the line
      await agent.drain(settings.drainMs)
      await agent.close()
      const enough = setTimeout(() => server.closeAllConnections(), closeGraceMs)
      await closed
      clearInterval(sweep)
      clearTimeout(enough)
    },
  }
}

const loopbackHosts = new Set(['127.0.0.1', '::1', 'localhost'])
const leaseMs = 30_000

/** For answers that are on their way when everything else is done. */
const closeGraceMs = 1_000
