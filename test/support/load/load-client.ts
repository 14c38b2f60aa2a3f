import { Agent, type ClientRequest, get, type IncomingMessage, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

/** An HTTP client for load tests. It does less work than the client of the SDK, so that the server gets most of the processor. */
export interface LoadClient {
  /** Creates a conversation. Also succeeds if the conversation already exists. */
  create(conversationId: string): Promise<void>
  /**
   * Sends a message. While the server answers 503, or can not be reached, the message is sent again with the same idempotency key. Resolves
   * when the server has accepted it. When `giveUp` returns true, a refused message is not sent again.
   */
  send(conversationId: string, messageId: string, text: string, giveUp?: () => boolean): Promise<Acceptance>
  /** Sends a steer, with the same retries as `send`. An empty text stops the turn. */
  steer(conversationId: string, messageId: string, text: string): Promise<void>
  /** Sends a decision about a call, with the same retries as `send`. Succeeds if the call is already decided, or has ended. */
  decide(conversationId: string, callId: string, approved: boolean): Promise<void>
  /** Follows a conversation. The returned function ends this. */
  follow(conversationId: string, options: FollowOptions): () => void
  close(): void
}

interface Acceptance {
  /** How many milliseconds the accepted request took. Undefined if the message was not accepted, because `giveUp` returned true. */
  readonly ms: number | undefined
  /** How often the server answered 503 before it accepted the message. */
  readonly refusals: number
}

interface FollowOptions {
  /** Called for each server-sent event with the `seq` of its entry. `seq` is undefined for an event that is not an entry. */
  onEvent(seq: number | undefined, data: string): void
  /** Called when the first event of a connection arrives, with the milliseconds since the connection was requested. */
  onOpen?(ms: number): void
}

export interface LoadClientOptions {
  url(): string
  /** Called for each response that is neither a success nor a refusal with `Retry-After`, and for each lost connection. */
  onError(what: string): void
  /** True if the server is killed during the test. In this case, a lost connection is not an error. The client always connects again. */
  readonly survivesLoss: boolean
}

const RECONNECT_MS = 100

export function createLoadClient({ url, onError, survivesLoss }: LoadClientOptions): LoadClient {
  const agent = new Agent({ keepAlive: true })
  const streams = new Set<ClientRequest>()
  let closed = false

  async function post(
    path: string,
    body: object,
    { headers = {}, giveUp = () => false, accepts = isSuccess }: PostOptions = {},
  ): Promise<Acceptance> {
    for (let refusals = 0; ; ) {
      const started = performance.now()
      const response = await postOnce(agent, `${url()}${path}`, JSON.stringify(body), headers).catch((error: Error) => error)
      if (response instanceof Error) {
        if (closed) throw response
        if (!survivesLoss) onError(`${path}: ${response.message}`)
        await sleep(RECONNECT_MS)
      } else if (response.status === 503 && response.retryAfter > 0) {
        refusals++
        if (giveUp()) return { ms: undefined, refusals }
        // the wait is random, so that clients that were refused together do not retry together
        await sleep(response.retryAfter * 1000 * (0.5 + Math.random()))
        if (giveUp()) return { ms: undefined, refusals }
      } else {
        if (!accepts(response)) onError(`${path}: ${response.status} ${response.text}`)
        return { ms: performance.now() - started, refusals }
      }
    }
  }

  return {
    async create(conversationId) {
      const accepts = (response: PostResult) => isSuccess(response) || response.text.includes('conversation.exists')
      await post('/v1/conversations', { id: conversationId, title: 'Load' }, { accepts })
    },

    send: (conversationId, messageId, text, giveUp) =>
      post(`/v1/conversations/${conversationId}/turns`, { text }, { headers: { 'idempotency-key': messageId }, ...(giveUp && { giveUp }) }),

    async steer(conversationId, messageId, text) {
      const headers = { 'idempotency-key': messageId }
      await post(`/v1/conversations/${conversationId}/turns`, { text, mode: 'steer' }, { headers })
    },

    async decide(conversationId, callId, approved) {
      const accepts = (response: PostResult) => isSuccess(response) || [404, 409].includes(response.status)
      try {
        await post(`/v1/conversations/${conversationId}/calls/${callId}/decision`, { approved }, { accepts })
      } catch (error) {
        if (!closed) throw error // a test may end before its last decision was sent
      }
    },

    follow(conversationId, { onEvent, onOpen }) {
      let left = false
      let last = 0
      let stream: ClientRequest | undefined
      const connect = () => {
        const started = performance.now()
        let opened = false
        const headers = last === 0 ? {} : { 'last-event-id': String(last) }
        const opening = get(`${url()}/v1/conversations/${conversationId}/events?as=native`, { agent: false, headers })
        stream = opening
        streams.add(opening)
        const lost = (reason: string) => {
          streams.delete(opening)
          opening.destroy()
          if (left || closed || stream !== opening) return
          if (!survivesLoss) onError(`the stream of ${conversationId} ended: ${reason}`)
          stream = undefined
          setTimeout(() => left || closed || connect(), RECONNECT_MS)
        }
        opening.on('error', (error) => lost(error.message))
        opening.once('response', (response) => {
          if (response.statusCode !== 200) return lost(String(response.statusCode))
          response.once('close', () => lost('closed'))
          readEvents(response, (id, data) => {
            if (!opened) onOpen?.(performance.now() - started)
            opened = true
            if (id !== undefined) last = id
            onEvent(id, data)
          })
        })
      }
      connect()
      return () => {
        left = true
        stream?.destroy()
      }
    },

    close() {
      closed = true
      for (const stream of streams) stream.destroy()
      agent.destroy()
    },
  }
}

interface PostOptions {
  readonly headers?: Readonly<Record<string, string>>
  /** When this returns true, a refused request is not sent again. */
  readonly giveUp?: () => boolean
  /** Whether a response is accepted. By default, only a successful response is accepted. */
  readonly accepts?: (response: PostResult) => boolean
}

const isSuccess = ({ status }: PostResult): boolean => status < 400

interface PostResult {
  readonly status: number
  /** The seconds of the header `Retry-After`. 0 without the header. */
  readonly retryAfter: number
  readonly text: string
}

function postOnce(agent: Agent, url: string, body: string, headers: Readonly<Record<string, string>>): Promise<PostResult> {
  return new Promise((resolve, reject) => {
    const length = String(Buffer.byteLength(body))
    const options = { agent, method: 'POST', headers: { ...headers, 'content-type': 'application/json', 'content-length': length } }
    const posting = request(url, options, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (text += chunk))
      response.once('error', reject)
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, retryAfter: Number(response.headers['retry-after'] ?? 0), text }),
      )
    })
    posting.once('error', (error: NodeJS.ErrnoException) => {
      // the server may close an idle connection at the moment when the client uses it again
      const wasIdle = posting.reusedSocket && error.code === 'ECONNRESET'
      if (wasIdle) resolve(postOnce(agent, url, body, headers))
      else reject(error)
    })
    posting.end(body)
  })
}

/** Reads server-sent events. The server writes the lines `id`, `event` and `data` of an event, and then an empty line. */
function readEvents(response: IncomingMessage, onEvent: (id: number | undefined, data: string) => void): void {
  let rest = ''
  response.setEncoding('utf8')
  response.on('data', (chunk: string) => {
    const events = (rest + chunk).split('\n\n')
    rest = events.pop() ?? ''
    for (const event of events) {
      const lines = event.split('\n')
      const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
      const data = field('data')
      const id = field('id')
      if (data !== undefined) onEvent(id === undefined ? undefined : Number(id), data)
    }
  })
  response.on('error', () => {}) // `close` follows
}
