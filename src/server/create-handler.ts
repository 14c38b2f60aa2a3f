import { randomBytes } from 'node:crypto'
import { setImmediate as nextTask } from 'node:timers/promises'
import type { Agent } from '../agent/agent-interface.ts'
import { callback, checkOptions, expects, flag, group, type OptionRules, objectWith, optional } from '../core/options.ts'
import { createApp } from './app.ts'
import { authenticationOf } from './auth/bearer.ts'
import { createSessions } from './auth/sessions.ts'
import type { App } from './handler.ts'
import { type Log, noLog } from './log.ts'
import { createMetrics, type Metrics, metricsHelp } from './metrics.ts'
import { defaultServerSettings, handlerSettingRules, type PortSettings, type ServerSettings } from './settings.ts'
import { startWork } from './work.ts'

/** Options of `createHandler`. They include all settings of a server except its address. */
export interface HandlerOptions extends Partial<Omit<ServerSettings, PortSettings>> {
  /** The path under which your application passes requests to the handler, such as `/agent`. Default: the handler gets all paths. */
  readonly basePath?: string
  /** Whether the handler also runs conversations that have work, such as turns that other processes left unfinished. Default: true. */
  readonly recover?: boolean
  /** Where the handler writes what happens, such as each request: `createLog((line) => process.stdout.write(line))`. Default: nowhere. */
  readonly log?: Log
  readonly metrics?: Metrics
  readonly now?: () => string
  readonly newId?: () => string
}

/** A function that answers the requests of Daybook's HTTP API. */
export interface Handler {
  (request: Request): Promise<Response>
  /**
   * Refuses new messages, gives running turns `drainMs` to finish, and closes the agent. Call it before the process ends. With the role
   * `worker`, running turns are handed over to other processes (`Agent.drain`).
   */
  drain(): Promise<void>
}

const rules: OptionRules<HandlerOptions> = {
  ...handlerSettingRules,
  basePath: optional(expects('a path such as "/agent"', (value) => typeof value === 'string' && isPath(value))),
  recover: optional(flag),
  log: optional(callback),
  metrics: optional(objectWith('metrics, as `createMetrics` gives them', 'count', 'observe', 'gauge', 'text')),
  now: optional(callback),
  newId: optional(callback),
}

/**
 * Whether requests can have this path. Paths with empty parts, `.` or `..` are not possible, because browsers and servers remove these
 * parts or change them.
 */
const isPath = (value: string): boolean =>
  value.startsWith('/') &&
  !['//', '?', '#', '\\'].some((signs) => value.includes(signs)) &&
  !value.split('/').some((part) => part === '.' || part === '..')

/**
 * Makes a function from `Request` to `Response`, which any web framework can mount. `serve` does the same, and also listens on a port.
 * Without `auth`, only requests to localhost are answered, so that an application can not be published without tokens by mistake.
 */
export function createHandler(agent: Agent, options: HandlerOptions = {}): Handler {
  checkOptions('createHandler', options, group('an object with settings', rules))
  const {
    basePath = '/',
    recover = true,
    log = noLog,
    metrics = createMetrics(metricsHelp),
    now = () => new Date().toISOString(),
    newId = () => randomBytes(8).toString('hex'),
    ...given
  } = options
  const settings = { ...defaultServerSettings, ...given }
  const shutdown = new AbortController()
  const stopped = new AbortController()
  const stopWork = recover ? startWork(agent, settings, log) : () => {}
  let app: Promise<App> | undefined
  const open = async () =>
    createApp(
      { agent, settings, log, metrics, now, newId, shutdown: shutdown.signal, stopped: stopped.signal },
      await authenticationOf(settings),
      createSessions(() => Date.parse(now())),
    )
  const { pathname } = new URL(basePath, 'http://localhost') // encoded like the paths of requests, with `%20` for a blank
  const prefix = pathname.endsWith('/') ? pathname.slice(0, -1) : pathname

  async function handle(request: Request): Promise<Response> {
    app ??= open()
    const url = new URL(request.url)
    if (prefix === '') return (await app).fetch(request)
    if (url.pathname !== prefix && !url.pathname.startsWith(`${prefix}/`)) return new Response('There is no such path.', { status: 404 })
    // the links of the page are relative, so its address must end with a slash
    if (url.pathname === prefix) return Response.redirect(new URL(`${prefix}/${url.search}`, url), 308)
    url.pathname = url.pathname.slice(prefix.length)
    return (await app).fetch(new Request(url, request))
  }
  return Object.assign(handle, {
    async drain() {
      stopWork()
      shutdown.abort()
      await agent.drain(settings.drainMs, { handOver: settings.role === 'worker' })
      await nextTask() // when this resolves, the streams have received the last events of the turns
      stopped.abort()
      await agent.close()
    },
  })
}
