import { connect, createServer, type Socket } from 'node:net'

/** Starts a proxy in front of a server. `drop` drops the open connections silently: their bytes are lost, and neither side is told. */
export async function startSilentProxy(url: string) {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const dropped = new Set<Socket>()
  const proxy = createServer((client) => {
    const server = connect(Number(target.port), target.hostname)
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(from)
      from.on('data', (data) => dropped.has(from) || to.write(data))
      from.on('error', () => {}) // `close` follows
      from.on('close', () => dropped.has(from) || to.destroy())
    }
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const { port } = proxy.address() as { port: number }
  return {
    url: Object.assign(new URL(url), { port: String(port) }).href,
    drop() {
      for (const socket of sockets) dropped.add(socket)
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => proxy.close(resolve))
    },
  }
}
