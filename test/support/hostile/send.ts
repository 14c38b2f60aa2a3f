import { request } from 'node:http'
import { connect } from 'node:net'

/** A request that is sent without normalisation or checks. */
export interface HostileRequest {
  readonly method?: string
  /** The path, which is sent exactly as given. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string | Uint8Array | Iterable<Uint8Array>
}

export interface HostileResponse {
  readonly status: number
  /** Headers and body as one text, in which tests search for secrets. */
  readonly text: string
  readonly contentType: string
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: string
}

/** Sends a request and returns the response. If the body is an iterable, it is sent in chunks, without a content-length. */
export function send(url: string, { method = 'GET', path, headers = {}, body }: HostileRequest): Promise<HostileResponse> {
  const { hostname, port } = new URL(url)
  const whole = typeof body === 'string' ? Buffer.from(body) : body instanceof Uint8Array ? body : undefined
  const length = whole && !hasLength(headers) ? { 'content-length': String(whole.byteLength) } : {}
  return new Promise((resolve, reject) => {
    const outgoing = request({ hostname, port, method, path, headers: { ...length, ...headers } as Record<string, string>, agent: false })
    outgoing.on('response', (response) => {
      const pieces: Buffer[] = []
      const done = () => {
        const text = Buffer.concat(pieces).toString('utf8')
        const contentType = response.headers['content-type'] ?? ''
        const head = response.rawHeaders.join('\n')
        outgoing.destroy()
        resolve({ status: response.statusCode ?? 0, text: `${head}\n${text}`, contentType, headers: response.headers, body: text })
      }
      response.on('data', (piece: Buffer) => {
        pieces.push(piece)
        // an event stream has no end, so its first piece is enough
        if (response.headers['content-type']?.startsWith('text/event-stream')) done()
      })
      response.once('end', done)
      response.once('error', done)
    })
    outgoing.once('error', reject)
    if (whole) outgoing.end(whole)
    else if (body === undefined) outgoing.end()
    else writeChunks(outgoing, body as Iterable<Uint8Array>)
  })
}

const hasLength = (headers: HostileRequest['headers']) =>
  Object.keys(headers ?? {}).some((name) => /^(content-length|transfer-encoding)$/i.test(name))

function writeChunks(outgoing: ReturnType<typeof request>, pieces: Iterable<Uint8Array>): void {
  outgoing.on('error', () => {}) // the server may reject the request before all of it was sent. The response says so
  for (const piece of pieces) outgoing.write(piece)
  outgoing.end()
}

/** Sends bytes on a TCP connection, and collects the response until the connection is closed. */
export function sendBytes(url: string, bytes: string | Uint8Array): Promise<HostileResponse> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = []
    const socket = connect({ host: hostname, port: Number(port) }, () => void socket.write(bytes))
    const timer = setTimeout(() => socket.destroy(), 5_000)
    socket.on('data', (piece) => {
      pieces.push(piece)
      if (!/^connection: close/im.test(Buffer.concat(pieces).toString('latin1'))) socket.end()
    })
    socket.once('error', (error: NodeJS.ErrnoException) => (error.code === 'ECONNRESET' ? undefined : reject(error)))
    socket.once('close', () => {
      clearTimeout(timer)
      const text = Buffer.concat(pieces).toString('utf8')
      const [head = '', ...rest] = text.split('\r\n\r\n')
      const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0)
      const contentType = /^content-type: (.*)$/im.exec(head)?.[1]?.trim() ?? ''
      resolve({ status, text, contentType, headers: {}, body: rest.join('\r\n\r\n') })
    })
  })
}
