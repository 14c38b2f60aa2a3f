import { setImmediate as nextTask } from 'node:timers/promises'
import { callback, checkOptions, group, type OptionRules, objectWith, optional } from '../core/options.ts'
import { createApp } from './app.ts'
import { authenticationOf } from './auth/bearer.ts'
import { createSessions } from './auth/sessions.ts'
import type { ServerParts } from './handler.ts'
import { listen } from './listen.ts'
import { serverSettingsRule } from './settings.ts'
import { startWork } from './work.ts'

/** A running server. It accepts messages until `drain` is called. */
export interface RunningServer {
  readonly url: string
  /**
   * A link to the page that signs in the person who started the server, as an operator. The link can be used once, within an hour.
   * Undefined on a server without tokens, whose page needs no sign-in.
   */
  signInLink(): string | undefined
  /**
   * Shuts the server down. Running turns have `drainMs` to finish, and the next process resumes the turns that have not finished. A server
   * with the role `worker` hands its turns over to other servers instead (`Agent.drain`).
   */
  drain(): Promise<void>
}

/**
 * Starts a server. Unless its role is `web`, it also runs conversations with work, such as turns that other processes left unfinished. Without
 * bearer tokens it listens only on the loopback address.
 */
export async function serve(parts: Omit<ServerParts, 'shutdown' | 'stopped'>): Promise<RunningServer> {
  checkOptions('serve', parts, serverParts)
  const { settings, agent, log } = parts
  if (settings.auth.kind === 'local' && !loopbackHosts.has(settings.host)) {
    throw new RangeError(`without tokens the server listens on 127.0.0.1 only, not on ${settings.host}: configure auth first`)
  }
  const shutdown = new AbortController()
  const stopped = new AbortController()
  const sessions = createSessions(() => Date.parse(parts.now()))
  const app = createApp({ ...parts, shutdown: shutdown.signal, stopped: stopped.signal }, await authenticationOf(settings), sessions)
  const server = await listen(app, { ...settings, log })
  const stopWork = startWork(agent, settings, log)

  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host
  return {
    url: `http://${host}:${server.port}`,
    signInLink() {
      if (settings.auth.kind === 'local') return undefined
      const here = anyHosts.has(settings.host) ? 'localhost' : host
      return `http://${here}:${server.port}/#code=${sessions.createCode()}`
    },
    async drain() {
      stopWork()
      shutdown.abort()
      // while it drains, the server still answers requests, so that load balancers get 503 from `/ready` and send requests to other servers
      await agent.drain(settings.drainMs, { handOver: settings.role === 'worker' })
      await nextTask() // when this resolves, the streams have received the last events of the turns
      stopped.abort()
      await agent.close()
      const closed = server.close()
      // closes connections without a request, because clients may keep them open for a long time, and `server.close` waits for them
      const sweep = setInterval(() => server.closeIdleConnections(), 20)
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
    checkMachine: optional(callback),
  } satisfies OptionRules<Omit<ServerParts, 'shutdown' | 'stopped'>>,
  'other names allowed',
)

/** Addresses that mean all networks of the machine. A link to the page can not use them. */
const anyHosts = new Set(['0.0.0.0', '::'])

const loopbackHosts = new Set(['127.0.0.1', '::1', 'localhost'])

/** How many milliseconds the open responses have to finish after the last turn has ended. After this time, all connections are closed. */
const closeGraceMs = 1_000
