import { request } from 'node:http'
import { connect } from 'node:net'

/** A request as an attacker makes it: nothing is normalised, nothing is forbidden. */
export interface HostileRequest {
  readonly method?: string
  /** As it goes over the wire. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string | Uint8Array | Iterable<Uint8Array>
}

export interface HostileResponse {
  readonly status: number
  /** Head and body, as one text: what must not leak must be in none of it. */
  readonly text: string
  readonly contentType: string
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: string
}

/** A body that is given piece by piece is sent in chunks, without saying how long it will be. */
export function send(url: string, { method = 'GET', path, headers = {}, body }: HostileRequest): Promise<HostileResponse> {
  const { hostname, port } = new URL(url)
  const whole = typeof body === 'string' ? Buffer.from(body) : body instanceof Uint8Array ? body : undefined
  const length = whole && !hasLength(headers) ? { 'content-length': String(whole.byteLength) } : {}
  return new Promise((resolve, reject) => {
    const asked = request({ hostname, port, method, path, headers: { ...length, ...headers } as Record<string, string>, agent: false })
    asked.on('response', (response) => {
      const pieces: Buffer[] = []
      const done = () => {
        const text = Buffer.concat(pieces).toString('utf8')
        const contentType = response.headers['content-type'] ?? ''
        const head = response.rawHeaders.join('\n')
        asked.destroy()
        resolve({ status: response.statusCode ?? 0, text: `${head}\n${text}`, contentType, headers: response.headers, body: text })
      }
      response.on('data', (piece: Buffer) => {
        pieces.push(piece)
        if (response.headers['content-type']?.startsWith('text/event-stream')) done() // it would never end
      })
      response.once('end', done)
      response.once('error', done)
    })
    asked.once('error', reject)
    if (whole) asked.end(whole)
    else if (body === undefined) asked.end()
    else writeChunks(asked, body as Iterable<Uint8Array>)
  })
}

const hasLength = (headers: HostileRequest['headers']) =>
  Object.keys(headers ?? {}).some((name) => /^(content-length|transfer-encoding)$/i.test(name))

function writeChunks(asked: ReturnType<typeof request>, pieces: Iterable<Uint8Array>): void {
  asked.on('error', () => {}) // refused before the end: the answer says so
  for (const piece of pieces) asked.write(piece)
  asked.end()
}

/** Bytes on a bare connection, and everything that comes back until it is closed. */
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
