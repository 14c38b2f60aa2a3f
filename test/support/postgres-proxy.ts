import { createServer, connect as open, type Server, type Socket } from 'node:net'

/** A proxy in front of a PostgreSQL server that can lose a request or its answer. */
export interface PostgresProxy {
  /** The address of the database through the proxy. */
  readonly url: string
  /**
   * Ends the connection at the request with this number, counted from this call on. With `before`, the server does not get the request.
   * With `after`, the server has answered, but the client does not get the answer. New connections wait until the promise of `whileCut` has
   * resolved.
   */
  cutAt(request: number, side: 'before' | 'after', whileCut?: () => Promise<void>): void
  /** Ends the connection when this many bytes of the next requests, or of their answers, were passed on. */
  cutAfterBytes(bytes: number, of: 'requests' | 'answers'): void
  /**
   * When a request contains the text, this request and everything after it on its connection is not passed on. This simulates a frozen
   * process. The connection stays open. `isFrozen` of the state says whether this has happened.
   */
  freezeAt(text: string): void
  /** How many requests were sent since the last `cutAt`, and whether the connection was cut since then. */
  readonly state: { readonly requests: number; readonly wasCut: boolean; readonly isFrozen: boolean }
  close(): Promise<void>
}

/** The last message of an answer: ready for the next query. */
const isEndOfAnswer = (data: Buffer) =>
  data.length >= 6 && data.readUInt8(data.length - 6) === 0x5a && data.readUInt32BE(data.length - 5) === 5

/** Starts a proxy for the database with this address. */
export async function startPostgresProxy(url: string): Promise<PostgresProxy> {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  let requests = 0
  let cut: { readonly request: number; readonly side: 'before' | 'after'; readonly whileCut: () => Promise<void> } | undefined
  let byteCut: { left: number; readonly of: 'requests' | 'answers' } | undefined
  let frozenText: string | undefined
  let isFrozen = false
  let wasCut = false
  let reopened: Promise<void> = Promise.resolve()

  async function forward(client: Socket): Promise<void> {
    client.on('error', () => {}) // `close` follows
    await reopened
    const server = open(Number(target.port), target.hostname)
    server.on('error', () => {})
    for (const socket of [client, server]) {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
    }
    let isLosingAnswer = false
    let isReady = false // the messages before the first answer belong to the start of the connection
    const end = () => {
      client.destroy()
      server.destroy()
    }
    const loseConnection = () => {
      wasCut = true
      reopened = cut?.whileCut() ?? reopened
      cut = undefined
      end()
    }
    /** Passes bytes on. If the connection is to be cut within them, the bytes before are passed on first. */
    const pass = (data: Buffer, to: Socket, of: 'requests' | 'answers') => {
      if (!isReady || byteCut?.of !== of) return to.write(data)
      if (data.length < byteCut.left) {
        byteCut.left -= data.length
        return to.write(data)
      }
      const before = data.subarray(0, byteCut.left)
      byteCut = undefined
      wasCut = true
      client.pause()
      server.pause()
      to.end(before, () => setTimeout(end, 5)) // the receiver can read these bytes before the connection ends
    }
    let isStopped = false
    client.on('data', (data) => {
      if (isReady) requests++
      if (frozenText !== undefined && data.includes(frozenText)) {
        frozenText = undefined
        isStopped = true
        isFrozen = true
      }
      if (isStopped) return
      const isCutHere = isReady && cut?.request === requests
      if (isCutHere && cut?.side === 'before') return loseConnection()
      isLosingAnswer ||= isCutHere
      pass(data, server, 'requests')
    })
    server.on('data', (data) => {
      if (isStopped) return
      const wasReady = isReady
      isReady ||= isEndOfAnswer(data)
      if (!isLosingAnswer) wasReady ? pass(data, client, 'answers') : client.write(data)
      else if (isEndOfAnswer(data)) loseConnection()
    })
    client.once('close', end)
    server.once('close', () => isStopped || end())
  }

  const proxy: Server = createServer((client) => void forward(client))
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const { port } = proxy.address() as { port: number }
  return {
    url: Object.assign(new URL(url), { port: String(port) }).href,
    cutAt(request, side, whileCut = async () => {}) {
      requests = 0
      wasCut = false
      cut = { request, side, whileCut }
    },
    cutAfterBytes(bytes, of) {
      wasCut = false
      byteCut = bytes > 0 ? { left: bytes, of } : undefined
    },
    freezeAt(text) {
      frozenText = text
      isFrozen = false
    },
    get state() {
      return { requests, wasCut, isFrozen }
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => proxy.close(resolve))
    },
  }
}
