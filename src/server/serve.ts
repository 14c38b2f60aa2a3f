import type { AddressInfo } from 'node:net'
import { callback, checkOptions, group, type OptionRules, objectWith } from '../core/options.ts'
import { createApp } from './app.ts'
import { createLocalAuth } from './auth/authenticate.ts'
import { createBearerAuth } from './auth/bearer.ts'
import type { ServerParts } from './handler.ts'
import { listen } from './listen.ts'
import { startRecovery } from './recovery.ts'
import { serverSettingsRule } from './settings.ts'

/** A server that accepts requests until it is drained. */
export interface RunningServer {
  readonly url: string
  /** Shuts the server down. Running turns get `drainMs` to finish. The next process resumes those that did not. */
  drain(): Promise<void>
}

/** Starts a server. It resumes turns that other processes left unfinished, also later than at its start. Without bearer tokens it listens on the loopback only. */
export async function serve(parts: Omit<ServerParts, 'shutdown'>): Promise<RunningServer> {
  checkOptions('serve', parts, serverParts)
  const { settings, agent, log } = parts
  if (settings.auth.kind === 'local' && !loopbackHosts.has(settings.host)) {
    throw new RangeError(`without tokens the server listens on 127.0.0.1 only, not on ${settings.host}: configure auth first`)
  }
  const shutdown = new AbortController()
  const authenticate = settings.auth.kind === 'local' ? createLocalAuth() : await createBearerAuth(settings.auth)
  const app = createApp({ ...parts, shutdown: shutdown.signal }, authenticate)
  const server = await listen(app, { ...settings, log })
  const stopRecovery = startRecovery(agent, log, parts.now)

  const { port } = server.address() as AddressInfo
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host
  return {
    url: `http://${host}:${port}`,
    async drain() {
      stopRecovery()
      shutdown.abort()
      await agent.drain(settings.drainMs) // meanwhile the server still listens, so that load balancers read 503 at /ready
      await agent.close()
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      const sweep = setInterval(() => server.closeIdleConnections(), 20) // `close` alone would wait for clients that keep a connection alive
      const deadline = setTimeout(() => server.closeAllConnections(), closeGraceMs)
      await closed
      clearInterval(sweep)
      clearTimeout(deadline)
    },
  }
}

const serverParts = group(
  'an object with `agent` and `settings`',
  {
    agent: objectWith('an agent, as `createAgent` gives it', 'run', 'send', 'follow', 'recover', 'drain', 'close'),
    settings: serverSettingsRule,
    log: callback,
    metrics: objectWith('metrics, as `createMetrics` gives them', 'count', 'observe', 'gauge', 'text'),
    now: callback,
    newId: callback,
  } satisfies OptionRules<Omit<ServerParts, 'shutdown'>>,
  'other names allowed',
)

const loopbackHosts = new Set(['127.0.0.1', '::1', 'localhost'])

/** How long responses may take to be sent after the last turn has ended. */
const closeGraceMs = 1_000
