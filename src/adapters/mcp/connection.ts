import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { z } from 'zod'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { McpAnswer, McpCall, McpServerState } from '../../ports/mcp.ts'
import { isAddressed, type McpAddress, type McpServerConfiguration } from '../../ports/mcp-configuration.ts'
import { errorText, refusalIn } from './errors.ts'
import { createHttpTransport } from './http.ts'
import { createSignedFetch } from './oauth/signed-fetch.ts'
import { createTokenFile } from './oauth/token-file.ts'
import { createProgramTransport, type ServerTransport } from './program.ts'
import { createRunningCalls } from './running-calls.ts'

/** The connection to one server. It is opened when it is first needed. After it was lost, it is opened again. */
export interface Connection {
  /** Asks the server for its tools if they are not known. Never rejects. */
  list(): Promise<McpServerState>
  latest(): McpServerState
  call(request: McpCall): Promise<McpAnswer>
  close(): Promise<void>
}

export interface ConnectionOptions {
  readonly version: string
  /** The file with the tokens of a server. */
  tokenPath(server: string, url: string): string
  /** Reports an error to the operator. */
  onProblem(error: Error): void
}

const DEFAULTS = { timeoutSeconds: 120, startSeconds: 10, maxMessageBytes: 32 * 1024 * 1024 }
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 60_000
/** If a server has run for this long before it stops, its earlier failures are forgotten. */
const STABLE_MS = 30_000
/** How many tools of a server are read. Further tools are ignored. */
const MAX_TOOLS = 1_000
const MAX_PAGES = 100
const PING_MS = 5_000
/** The shortest time between two requests for the list of tools, unless a turn needs the list. */
const REREAD_MS = 250
/** The time-out of the SDK can not pause, so it is set to the longest time that a timer can wait. `createCallTimer` has the real limit. */
const NO_TIMEOUT = 2 ** 31 - 1

interface Open {
  readonly client: Client
  readonly transport: ServerTransport
  readonly since: number
}

export function createConnection(
  server: string,
  configuration: McpServerConfiguration,
  { version, tokenPath, onProblem }: ConnectionOptions,
): Connection {
  const { timeoutSeconds, startSeconds, maxMessageBytes } = { ...DEFAULTS, ...configuration }
  const running = createRunningCalls(onProblem)
  let opening: Promise<Open> | undefined
  let failures = 0
  let retryAt = 0
  let problem: string | undefined
  let tools: readonly unknown[] | undefined
  let listing: Promise<void> | undefined
  let rereading: NodeJS.Timeout | undefined
  let readAt = Number.NEGATIVE_INFINITY
  let isClosed = false

  const state = (): McpServerState => ({
    server,
    ...(tools && { tools }),
    ...(problem !== undefined && { problem }),
    ...(configuration.trusted !== undefined && { trusted: configuration.trusted }),
    ...(configuration.tools && { allowed: configuration.tools }),
  })

  /** The open connection. Opens it if necessary, but not during the pause after a failure. */
  function open(): Promise<Open> {
    if (isClosed) return Promise.reject(new Error('the agent is closed'))
    if (opening) return opening
    const wait = retryAt - Date.now()
    if (wait > 0) return Promise.reject(new Error(`${problem ?? 'it failed'}. It is tried again in ${Math.ceil(wait / 1000)} s`))
    const attempt = connect()
    opening = attempt
    attempt.catch((error: unknown) => {
      if (opening === attempt) fail(errorText(error))
    })
    return attempt
  }

  async function connect(): Promise<Open> {
    const { createClient } = await loadClient()
    const transport = isAddressed(configuration)
      ? await createHttpTransport(configuration, maxMessageBytes, signedFetch(configuration))
      : createProgramTransport(configuration, maxMessageBytes)
    const client = createClient(version, { onListChanged: () => refresh(), onQuestion: running.ask })
    const opened: Open = { client, transport, since: Date.now() }
    try {
      await client.connect(transport, { timeout: startSeconds * 1000 })
      if (isClosed) throw new Error('the agent is closed')
      if (transport.ending !== undefined) throw new Error(transport.ending)
    } catch (error) {
      const reason = transport.ending ?? errorText(error) // read before the transport is closed, because closing would give another reason
      await transport.close()
      throw new Error(reason, { cause: error })
    }
    client.onclose = () => onClosed(opened)
    problem = undefined
    return opened
  }

  function signedFetch({ url, oauth }: McpAddress): typeof fetch {
    if (oauth === undefined) return fetch
    return createSignedFetch(server, url, oauth === true ? {} : oauth, createTokenFile(tokenPath(server, url)))
  }

  function onClosed({ transport, since }: Open): void {
    if (isClosed || !opening) return
    if (Date.now() - since > STABLE_MS) failures = 0
    fail(transport.ending ?? 'it closed the connection')
    onProblem(new Error(`the MCP server ${server} stopped: ${problem}${transport.lastWords && `\n${transport.lastWords}`}`))
  }

  /** Forgets the connection. The next attempt is made after a pause, which grows with each failure. */
  function fail(reason: string): void {
    opening = undefined
    problem = reason
    retryAt = Date.now() + Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures)
    failures++
  }

  /**
   * Reads the list of tools. If the list is being read or was read a moment ago, it is read again later, but only once, even if this
   * function is called several times meanwhile. The reason is that some servers report a changed list whenever the list is read.
   */
  function refresh(): Promise<void> {
    if (rereading) return listing ?? Promise.resolve()
    if (listing || Date.now() - readAt < REREAD_MS) {
      rereading = setTimeout(() => {
        rereading = undefined
        void refresh()
      }, REREAD_MS).unref()
      return listing ?? Promise.resolve()
    }
    listing = read().finally(() => {
      listing = undefined
      readAt = Date.now()
    })
    return listing

    async function read(): Promise<void> {
      if (isClosed) return
      try {
        const { client } = await open()
        tools = await readTools(client, startSeconds * 1000)
        failures = 0
        problem = tools.length >= MAX_TOOLS ? `it has ${MAX_TOOLS} tools or more: only the first ${MAX_TOOLS} are used` : undefined
      } catch (error) {
        problem ??= errorText(error)
        onProblem(new Error(`the tools of the MCP server ${server} are not known: ${errorText(error)}`, { cause: error }))
      }
    }
  }

  async function call(request: McpCall): Promise<McpAnswer> {
    let opened: Open
    try {
      opened = await open()
    } catch (error) {
      return { kind: 'unavailable', message: errorText(error) }
    }
    const entry = running.add(request, timeoutSeconds)
    try {
      const result = await sendCall(opened.client, request, entry.signal)
      return { kind: 'result', result }
    } catch (error) {
      return await explain(error, opened, entry.hasExpired, request)
    } finally {
      await entry.end()
    }
  }

  async function explain(error: unknown, opened: Open, hasExpired: boolean, { signal }: McpCall): Promise<McpAnswer> {
    if (signal.aborted) return { kind: 'lost', message: 'the call was cancelled' }
    if (hasExpired) {
      if (!(await answersPing(opened.client))) await drop(opened, `it did not answer for ${timeoutSeconds} s`)
      return { kind: 'lost', message: `it did not answer within ${timeoutSeconds} s` }
    }
    if (opened.transport.ending !== undefined) return { kind: 'lost', message: opened.transport.ending }
    const refusal = refusalIn(error)
    if (refusal !== undefined) return { kind: 'error', message: refusal }
    const status = isObject(error) && typeof error.code === 'number' ? error.code : undefined
    if (status === SESSION_ENDED) {
      await drop(opened, 'it has forgotten the session')
      retryAt = 0
      return { kind: 'unavailable', message: 'it was restarted and has forgotten the session: call the tool again' }
    }
    return { kind: 'lost', message: errorText(error) }
  }

  /** Ends a connection that does not work any more. */
  async function drop({ transport }: Open, reason: string): Promise<void> {
    fail(reason)
    await transport.close()
  }

  return {
    async list() {
      if (tools === undefined && problem === undefined) await within(refresh(), startSeconds * 1000)
      else if (!opening && Date.now() >= retryAt) void refresh() // the turn does not wait for a server that failed before
      if (tools === undefined && problem === undefined) problem = `it did not answer within ${startSeconds} s`
      return state()
    },
    latest: state,
    call,
    async close() {
      isClosed = true
      clearTimeout(rereading)
      const opened = await opening?.catch(() => undefined)
      await opened?.client.close()
    },
  }
}

const SESSION_ENDED = 404

/** Any object. A stricter schema would make the SDK refuse results of unknown form. `tools/mcp` checks the results instead. */
const anyObject = z.looseObject({})

async function sendCall(client: Client, { name, params, onProgress }: McpCall, signal: AbortSignal): Promise<JsonObject> {
  const request = { method: 'tools/call' as const, params: { name, arguments: params } }
  const result = await client.request(request, anyObject, {
    signal,
    timeout: NO_TIMEOUT,
    ...(onProgress && { onprogress: ({ message, progress, total }) => onProgress(message ?? progressText(progress, total)) }),
  })
  return result as JsonObject // the result was parsed from JSON
}

const progressText = (progress: number, total: number | undefined): string =>
  total === undefined ? `${progress}` : `${progress} of ${total}`

async function readTools(client: Client, timeout: number): Promise<readonly unknown[]> {
  const tools: unknown[] = []
  let cursor: unknown
  for (let page = 0; page < MAX_PAGES && tools.length < MAX_TOOLS; page++) {
    const params = typeof cursor === 'string' ? { cursor } : {}
    const result = await client.request({ method: 'tools/list', params }, anyObject, { timeout })
    if (!Array.isArray(result.tools)) throw new Error('it answered with something that is no list of tools')
    tools.push(...result.tools.slice(0, MAX_TOOLS - tools.length))
    cursor = result.nextCursor
    if (typeof cursor !== 'string') break
  }
  return tools
}

const answersPing = (client: Client): Promise<boolean> =>
  client.ping({ timeout: PING_MS }).then(
    () => true,
    () => false,
  )

async function within(work: Promise<void>, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  await Promise.race([work, promise])
  clearTimeout(timer)
}

/** The client is loaded on demand, because loading takes 130 ms and most agents have no MCP servers. */
const loadClient = () => import('./client.ts')
