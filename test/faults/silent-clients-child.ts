/**
 * Clients that read nothing, in their own process, so that their buffers do not count as memory of the server:
 *
 *   node silent-clients-child.ts <url> <count> <path> [<path> …]
 *
 * Each client sends one request. The paths are used in turn. Prints `connected` when the server has accepted all of them.
 */
import { writeSync } from 'node:fs'
import { connect, type Socket } from 'node:net'

const [url = '', count = '0', ...paths] = process.argv.slice(2)
const { hostname, port } = new URL(url)
const sockets: Socket[] = []
for (let index = 0; index < Number(count); index++) {
  const socket = connect({ host: hostname, port: Number(port) })
  await new Promise<void>((resolve, reject) => void socket.once('connect', resolve).once('error', reject))
  socket.on('error', () => {}).pause()
  socket.write(`GET ${paths[index % paths.length]} HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`)
  sockets.push(socket)
}
writeSync(1, 'connected\n')
setInterval(() => sockets.length, 1_000)
