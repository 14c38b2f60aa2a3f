import type { Server as HttpServer } from 'node:http'
import { type AddressInfo, createServer, type ListenOptions, type Server } from 'node:net'

/**
 * The number of sockets that listen on the port. In each iteration of the event loop, Node accepts only one connection per socket. On a
 * busy server an iteration takes milliseconds, so one socket would accept new connections too slowly. The operating system distributes new
 * connections over the sockets.
 */
const SOCKETS = 8

/**
 * How many connections may wait at each socket until the server accepts them. The operating system drops further connections, and their
 * clients try to connect again only after some seconds.
 */
const PENDING_CONNECTIONS = 4_096

/** An open port. */
export interface OpenPort {
  readonly port: number
  /** Accepts no further connections. Resolves when all connections have ended. */
  close(): Promise<void>
}

/** Listens on a port with several sockets, if the system allows it. Rejects if another program uses the port. */
export async function openPort(server: HttpServer, { host, port }: { readonly host: string; readonly port: number }): Promise<OpenPort> {
  const place = { host, port, backlog: PENDING_CONNECTIONS }
  const others = process.platform === 'linux' ? await openSharedPort(server, place) : []
  if (!server.listening) await listenOn(server, place)
  return {
    port: (server.address() as AddressInfo).port, // the port that the system chose, if `port` is 0
    close: async () => void (await Promise.all([server, ...others].map(closed))),
  }
}

/**
 * Opens several sockets that share a port: the socket of `server`, and others, which are returned. First, a probe opens the port without
 * sharing it, which fails if another program uses the port. Then the probe is closed. Opens nothing and returns an empty list if this
 * system can not share ports.
 */
async function openSharedPort(server: HttpServer, place: ListenOptions): Promise<readonly Server[]> {
  const probe = createServer()
  await listenOn(probe, place)
  const shared = { ...place, port: (probe.address() as AddressInfo).port, reusePort: true }
  await closed(probe)
  try {
    await listenOn(server, shared)
  } catch (error) {
    if (isUnsupported(error)) return []
    throw error
  }
  // these are the options that Node uses for the connections of an HTTP server
  const others = Array.from({ length: SOCKETS - 1 }, () =>
    createServer({ allowHalfOpen: true, noDelay: true }, (socket) => void server.emit('connection', socket)),
  )
  await Promise.all(others.map((other) => listenOn(other, shared)))
  return others
}

const isUnsupported = (error: unknown) => error instanceof Error && 'code' in error && (error.code === 'ENOTSUP' || error.code === 'EINVAL')

const listenOn = (server: Server, place: ListenOptions) =>
  new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(place, () => {
      server.off('error', reject)
      resolve()
    })
  })

const closed = (server: Server) => new Promise<void>((resolve) => void server.close(() => resolve()))
