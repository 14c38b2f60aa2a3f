import type { Context } from 'hono'
import type { Authenticate } from './auth/authenticate.ts'
import { type App, createRoutes, type Env, type ServerParts } from './handler.ts'
import { dataPolicy, securityHeaders } from './headers.ts'
import { checkBody, limitSize } from './limits/body.ts'
import { createStreamQuota, createTokenBucket, createTurnQuota, tooMany } from './limits/quotas.ts'
import { problemOf, RequestProblem } from './problem.ts'
import { conversationRoutes } from './routes/conversations.ts'
import { ledgerRoutes } from './routes/cost.ts'
import { eventRoutes } from './routes/events.ts'
import { pageRoutes } from './routes/page.ts'
import { promptRoutes, recordRoutes } from './routes/records.ts'
import { resourceRoutes } from './routes/resources.ts'
import { statusRoutes } from './routes/status.ts'
import { chatRoutes } from './routes/submit-and-stream.ts'
import { turnRoutes } from './routes/turns.ts'

const apiInfo = { title: 'Daybook', version: '1', description: 'A timeline-native agent runtime: submit a turn, follow its events.' }

/**
 * The way of a request:
 *
 *   headers, id ─▶ who is asking ─▶ is it there ─▶ how often ─▶ how large, how deep ─▶ route ─▶ answer
 *        └──────────────── whatever goes wrong is a problem with a code ──────────────────────────┘
 */
export function createApp(parts: ServerParts, authenticate: Authenticate): App {
  const { settings, metrics, log } = parts
  const nowMs = () => Date.parse(parts.now())
  const followers = createStreamQuota(settings.followersPerUser)
  const gate = createTurnQuota(settings, nowMs, () => parts.agent.running)
  const requests = createTokenBucket({ atOnce: settings.requestsPerMinute, perMinute: settings.requestsPerMinute })
  metrics.gauge('daybook_followers', () => followers.size)
  metrics.gauge('daybook_running_turns', () => [...parts.agent.running].length)

  const app = createRoutes()
  app.onError((error, c) => {
    const problem = problemOf(error)
    if (problem.status >= 500) log('error', 'request.failed', { request_id: c.get('requestId'), path: c.req.path, error })
    return problemResponse(c, problem, error instanceof RequestProblem ? error.headers : {})
  })
  app.notFound(() => {
    throw routeMissing()
  })

  app.use(async (c, next) => {
    const began = performance.now()
    c.set('requestId', parts.newId())
    await next()
    if (c.req.method === 'HEAD') await c.res.body?.cancel() // nobody will read it, and a stream would wait for ever
    for (const [name, value] of Object.entries(securityHeaders)) c.header(name, value)
    if (!c.res.headers.has('content-security-policy')) c.header('content-security-policy', dataPolicy)
    if (!c.res.headers.has('cache-control')) c.header('cache-control', 'no-store')
    c.header('x-request-id', c.get('requestId'))
    const labels = { method: c.req.method, status: c.res.status }
    metrics.count('daybook_requests_total', labels)
    metrics.observe('daybook_request_seconds', (performance.now() - began) / 1000)
    log('info', 'request', { request_id: c.get('requestId'), ...labels, path: c.req.path, ms: Math.round(performance.now() - began) })
  })
  app.use(async (c, next) => {
    const admitted = await authenticate({ method: c.req.method, url: new URL(c.req.url), header: (name) => c.req.header(name) })
    if (admitted.ok) c.set('caller', admitted.caller)
    else if (!isPublicPath(c.req.path) || admitted.code !== 'token.refused') {
      throw new RequestProblem(admitted.status, admitted.code as 'token.refused', admitted.title, wwwAuthenticate(admitted.status))
    }
    await next()
  })
  app.use(async (c, next) => {
    const methods = methodsOf(c.req.path)
    if (methods.size === 0) throw routeMissing()
    if (!methods.has(c.req.method)) {
      const headers = { allow: [...methods].join(', ') }
      throw new RequestProblem(405, 'route.method', `Here one can ${headers.allow}.`, { headers })
    }
    await next()
  })
  app.use('/v1/*', async (c, next) => {
    if (parts.shutdown.aborted) throw new RequestProblem(503, 'server.draining', 'The server is going down; ask again.', retrySoon)
    const { tenant, project, user } = c.get('caller').scope
    const seconds = requests.take(JSON.stringify([tenant, project, user]), nowMs())
    if (seconds > 0) throw tooMany('Too many requests in a short time.', seconds)
    await next()
  })
  app.use('/v1/*', limitSize(settings.maxUploadBytes, settings.maxBodyBytes))
  app.use('/v1/*', checkBody)

  for (const routes of [
    statusRoutes(parts),
    conversationRoutes(parts),
    turnRoutes(parts, gate),
    recordRoutes(parts),
    promptRoutes(parts),
    ledgerRoutes(parts),
    resourceRoutes(parts),
    eventRoutes(parts, followers),
    chatRoutes(parts, followers, gate),
    pageRoutes(),
  ]) {
    app.route('/', routes)
  }
  app.doc31('/v1/openapi.json', { openapi: '3.1.0', info: apiInfo })
  const methodsOf = createMethodLookup(app)
  return app
}

/** Without a token: what says nothing about anybody. */
const isPublicPath = (path: string) => path === '/health' || path === '/ready' || path === '/' || path.startsWith('/page/')

const wwwAuthenticate = (status: number) => (status === 401 ? { headers: { 'www-authenticate': 'Bearer' } } : {})

const retrySoon = { headers: { 'retry-after': '1' } }

const routeMissing = () => new RequestProblem(404, 'route.missing', 'There is nothing here.')

function problemResponse(c: Context<Env>, problem: ReturnType<typeof problemOf>, headers: Readonly<Record<string, string>> = {}): Response {
  const body = JSON.stringify({ ...problem, request_id: c.get('requestId') })
  return c.body(body, problem.status as 500, { ...headers, 'content-type': 'application/problem+json' })
}

/** Which methods a path is known by. */
export type MethodLookup = (path: string) => ReadonlySet<string>

/** Asked before anything else of a request is looked at: what is not there is not read. */
export function createMethodLookup(app: Pick<App, 'routes'>): MethodLookup {
  const known = app.routes
    .filter(({ method }) => method !== 'ALL')
    .map(({ method, path }) => ({ method, shape: new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/:\w+/g, '[^/]+')}$`) }))
  return (path) =>
    new Set(known.filter(({ shape }) => shape.test(path)).flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))
}
