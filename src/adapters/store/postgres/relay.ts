import { createHash } from 'node:crypto'
import type { Relay, RelayListener } from '../../../ports/store/relay.ts'
import type { Database, Listening } from './database.ts'

/** PostgreSQL allows 8,000 bytes in a notification. */
const MAX_BYTES = 7_500
/** How long to wait before a lost connection is opened again. */
const RECONNECT_MS = 250

interface Connection {
  readonly addresses: readonly string[]
  readonly listener: RelayListener
  open: Listening | undefined
  timer: ReturnType<typeof setTimeout> | undefined
  ended: boolean
}

/**
 * Carries messages as notifications (NOTIFY) of the database, on separate channels. Each call of `listen` opens a connection, which is also
 * used to send. While no connection is open, `send` throws.
 */
export function createPostgresRelay(database: Database, schema: string): Relay & { close(): void } {
  const connections = new Set<Connection>()
  const name = createHash('sha256').update(schema).digest('hex').slice(0, 12)
  const channelOf = (address: string) => `daybook_live_${name}_${address}` // shorter than 63 bytes, as the name of a channel has to be

  function connect(connection: Connection): void {
    const lost = () => {
      connection.open = undefined
      if (!connection.ended) connection.timer = setTimeout(connect, RECONNECT_MS, connection).unref()
    }
    database.listen(connection.listener.onMessage, lost, connection.addresses.map(channelOf)).then((open) => {
      if (connection.ended) return void open.close()
      connection.open = open
      connection.listener.onConnected()
    }, lost)
  }

  function end(connection: Connection): void {
    connection.ended = true
    clearTimeout(connection.timer)
    void connection.open?.close()
    connection.open = undefined
    connections.delete(connection)
  }

  return {
    maxBytes: MAX_BYTES,
    async send(address, text) {
      const open = [...connections].find((connection) => connection.open !== undefined)?.open
      if (open === undefined) throw new Error('there is no connection to PostgreSQL for live events')
      await open.notify(channelOf(address), text)
    },
    listen(addresses, listener) {
      const connection: Connection = { addresses, listener, open: undefined, timer: undefined, ended: false }
      connections.add(connection)
      connect(connection)
      return () => end(connection)
    },
    close() {
      for (const connection of connections) end(connection)
    },
  }
}
