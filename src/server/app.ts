import type { Context } from 'hono'
import { userKey } from '../core/scope.ts'
import type { Authenticate } from './auth/authenticate.ts'
import { completionCaller, hasCompletionToken } from './auth/completion-token.ts'
import { isSignIn, type Sessions, signInCaller, withSessions } from './auth/sessions.ts'
import { requireOperator } from './auth/viewer.ts'
import { allowOrigins } from './cors.ts'
import { type App, createRoutes, type Env, type ServerParts } from './handler.ts'
import { dataPolicy, securityHeaders } from './headers.ts'
import { createBacklogGuard } from './limits/backlog.ts'
import { limitSize, readBody } from './limits/body.ts'
import { createOverloadGuard } from './limits/overload.ts'
import { createStreamQuota, createTurnQuota, tooMany } from './limits/quotas.ts'
import { createRateLimit, rateHeaders } from './limits/rate-limit.ts'
import { createTurnCounter } from './limits/running-turns.ts'
import { createSharedBuckets } from './limits/shared-buckets.ts'
import { errorHeaders, problemOf, RequestProblem } from './problem.ts'
import { conversationRoutes } from './routes/conversations.ts'
import { eventRoutes } from './routes/events.ts'
import { mcpRoutes } from './routes/mcp.ts'
import { messageRoutes } from './routes/messages.ts'
import { administrationRoutes } from './routes/operations/administration.ts'
import { budgetRoutes } from './routes/operations/budgets.ts'
import { infoRoutes } from './routes/operations/info.ts'
import { parkedRoutes } from './routes/operations/parked.ts'
import { scheduleRoutes } from './routes/operations/schedules.ts'
import { statusRoutes } from './routes/operations/status.ts'
import { isPagePath, pageRoutes } from './routes/page.ts'
import { recordRoutes } from './routes/records.ts'
import { reportRoutes } from './routes/reports.ts'
import { resourceRoutes } from './routes/resources.ts'
import { sessionRoutes } from './routes/session.ts'
import { submitAndStreamRoutes } from './routes/submit-and-stream.ts'
import { turnRoutes } from './routes/turns.ts'
import { isViewerScript, viewerRoutes } from './routes/viewer.ts'
import { waitingRoutes } from './routes/waiting.ts'

const apiInfo = { title: 'Daybook', version: '1', description: 'A timeline-native agent runtime: submit a turn, follow its events.' }

/**
 * Creates the HTTP application. Every request passes these steps in order:
 *
 *   request id, headers ─▶ authentication ─▶ known route? ─▶ rate limit ─▶ body size and depth ─▶ route ─▶ response
 *        └──────────────── every error becomes an `application/problem+json` with a code ──────────────────────┘
 */
export function createApp(parts: ServerParts, authenticateTokens: Authenticate, sessions: Sessions): App {
  const { agent, settings, metrics, log, shutdown } = parts
  const authenticate = withSessions(authenticateTokens, sessions)
  const nowMs = () => Date.parse(parts.now())
  const streams = createStreamQuota(settings.followersPerUser)
  const downloads = createStreamQuota(settings.downloadsPerUser, 'Too many downloads are open; wait until one has ended.')
  const imports = createStreamQuota(1, 'Another import is running; wait until it has ended.')
  const replays = createStreamQuota(1, 'Another replay is running; wait until it has ended.')
  const { limits: sharedLimits } = agent.archive
  const onLimitProblem = (error: unknown) => log('warn', 'limits.alone', { error })
  const shared = sharedLimits && createSharedBuckets(sharedLimits, onLimitProblem)
  const messages = createRateLimit({ name: 'turns', perMinute: settings.turnsPerMinute }, shared)
  const turns = {
    ...createTurnQuota({
      runningTurns: settings.runningTurns,
      starts: messages,
      overload: createOverloadGuard(settings, { nowMs, slowCommits: agent.slowCommits }),
      nowMs,
      running: () => agent.running,
      ...(sharedLimits && { countElsewhere: createTurnCounter(sharedLimits, settings.runningTurns, onLimitProblem) }),
    }),
    checkBacklog: createBacklogGuard(agent.archive.work, settings.workBacklog, nowMs),
  }
  const requests = createRateLimit({ name: 'requests', perMinute: settings.requestsPerMinute }, shared)
  metrics.gauge('daybook_followers', () => streams.size)
  metrics.gauge('daybook_downloads', () => downloads.size)
  metrics.gauge('daybook_running_turns', () => [...agent.running].length)

  const app = createRoutes()
  app.onError((error, c) => {
    const problem = problemOf(error)
    const reason = error instanceof RequestProblem ? (error.cause ?? error) : error
    // The problems `server.draining` and `server.overloaded` are not logged. They are not errors of the server, and the server sends them
    // many times: to load balancers that check `/ready` during a shutdown, and to senders of messages while it has too much to do.
    const isFault = problem.status >= 500 && problem.code !== 'server.draining' && problem.code !== 'server.overloaded'
    if (isFault) log('error', 'request.failed', { request_id: c.get('requestId'), path: c.req.path, error: reason })
    return problemResponse(c, problem, errorHeaders(error, nowMs()))
  })
  app.notFound(() => {
    throw routeMissing()
  })

  app.use(async (c, next) => {
    const startedAt = performance.now()
    c.set('requestId', parts.newId())
    await next()
    // HEAD gets the headers of GET without the body. Without `cancel`, an event stream would stay open.
    if (c.req.method === 'HEAD') await c.res.body?.cancel()
    for (const [name, value] of Object.entries(securityHeaders)) if (!c.res.headers.has(name)) c.header(name, value)
    if (!c.res.headers.has('content-security-policy')) c.header('content-security-policy', dataPolicy)
    if (!c.res.headers.has('cache-control')) c.header('cache-control', 'no-store')
    c.header('x-request-id', c.get('requestId'))
    const labels = { method: c.req.method, status: c.res.status }
    const elapsedMs = performance.now() - startedAt
    metrics.count('daybook_requests_total', labels)
    metrics.observe('daybook_request_seconds', elapsedMs / 1000)
    log('info', 'request', { request_id: c.get('requestId'), ...labels, path: c.req.path, ms: Math.round(elapsedMs) })
  })
  if (settings.origins.length > 0) app.use(allowOrigins(settings.origins))
  app.use(async (c, next) => {
    const result = await authenticate({ method: c.req.method, url: new URL(c.req.url), header: (name) => c.req.header(name) })
    if (result.ok) c.set('caller', result.caller)
    else if (hasCompletionToken(c.req)) c.set('caller', completionCaller)
    else if (isSignIn(c.req) && result.status === 401) c.set('caller', signInCaller)
    else if (isViewerScript(c.req.path))
      return next() // served without a token: the viewer has an origin of its own and can not send one
    else if (!isPublicPath(c.req.path) || (result.code !== 'token.refused' && result.code !== 'auth.unavailable')) {
      const more = result.status === 503 ? { ...retrySoon, cause: result.cause } : wwwAuthenticate(result.status)
      throw new RequestProblem(result.status, result.code, result.title, more)
    }
    await next()
  })
  app.use(async (c, next) => {
    const methods = methodsOf(c.req.path)
    if (methods.size === 0) throw routeMissing()
    if (!methods.has(c.req.method)) {
      const title = `This path accepts ${[...methods].join(' and ')}.`
      throw new RequestProblem(405, 'route.method', title, { headers: { allow: [...methods].join(', ') } })
    }
    await next()
  })
  const checkRequest = async (c: Context<Env>, next: () => Promise<void>) => {
    if (shutdown.aborted) throw new RequestProblem(503, 'server.draining', 'The server is shutting down; try again soon.', retrySoon)
    const rate = await requests.take(userKey(c.get('caller').scope), nowMs())
    const headers = rateHeaders(rate)
    if (rate.retrySeconds > 0) throw tooMany('Too many requests in a short time.', rate.retrySeconds, headers)
    await next()
    // appended, and not set, because the response to a message also has the headers of the limit for messages
    for (const [name, value] of Object.entries(headers)) c.header(name, value, { append: true })
  }
  for (const path of ['/v1/*', '/mcp']) app.use(path, checkRequest)
  app.use('/v1/conversations/import', async (c, next) => {
    if (c.req.method !== 'POST') return next() // with other methods, `import` in this path is the id of a conversation
    requireOperator(c) // checked before the body is read, because a bundle may take much memory
    const release = imports.acquire(c.get('caller').scope)
    try {
      await next()
    } finally {
      release()
    }
  })
  for (const path of ['/v1/*', '/mcp']) app.use(path, limitSize(settings.maxUploadBytes, settings.maxBodyBytes), readBody)

  const allRoutes = () => [
    infoRoutes(parts),
    conversationRoutes(parts),
    turnRoutes(parts, turns),
    waitingRoutes(parts),
    parkedRoutes(parts),
    administrationRoutes(parts),
    messageRoutes(parts),
    scheduleRoutes(parts, messages),
    budgetRoutes(parts),
    sessionRoutes(sessions),
    recordRoutes(parts),
    reportRoutes(parts, replays),
    resourceRoutes(parts, downloads),
    eventRoutes(parts, streams),
    submitAndStreamRoutes(parts, streams, turns),
    viewerRoutes(),
    mcpRoutes(parts, turns),
    pageRoutes(),
  ]
  // a worker serves no users, so it has no route that could reach their data
  for (const routes of [statusRoutes(parts), ...(settings.role === 'worker' ? [] : allRoutes())]) app.route('/', routes)
  app.doc31('/v1/openapi.json', { openapi: '3.1.0', info: apiInfo })
  const methodsOf = createMethodLookup(app)
  return app
}

/** Whether a path is served without a token. The responses contain no data of users. */
const isPublicPath = (path: string) => path === '/health' || path === '/ready' || isPagePath(path)

const wwwAuthenticate = (status: number) => (status === 401 ? { headers: { 'www-authenticate': 'Bearer' } } : {})

const retrySoon = { headers: { 'retry-after': '1' } }

const routeMissing = () => new RequestProblem(404, 'route.missing', 'There is no such path.')

function problemResponse(c: Context<Env>, problem: ReturnType<typeof problemOf>, headers: Readonly<Record<string, string>>): Response {
  const body = JSON.stringify({ ...problem, request_id: c.get('requestId') })
  return c.body(body, problem.status as 500, { ...headers, 'content-type': 'application/problem+json' })
}

/** Makes a function that returns the methods that a path accepts. The app uses it to reject an unknown path before it reads the body. */
function createMethodLookup(app: Pick<App, 'routes'>): (path: string) => ReadonlySet<string> {
  const routes = app.routes
    .filter(({ method }) => method !== 'ALL')
    .map(({ method, path }) => ({ method, pattern: new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/:\w+/g, '[^/]+')}$`) }))
  return (path) =>
    new Set(routes.filter(({ pattern }) => pattern.test(path)).flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))
}
