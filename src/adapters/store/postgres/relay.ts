import { createHash } from 'node:crypto'
import type { Relay, RelayListener } from '../../../ports/store/relay.ts'
import type { Database, Listening } from './database.ts'

/** PostgreSQL allows 8,000 bytes in a notification. */
const MAX_BYTES = 7_500
/** How long to wait before a lost connection is opened again. */
const RECONNECT_MS = 250
/** How often it is checked that the connection still works. */
const CHECK_MS = 3_000
/** A message that all processes ignore. */
const PROBE = ''

interface Connection {
  readonly addresses: readonly string[]
  readonly listener: RelayListener
  open: Listening | undefined
  /** Waits for the next attempt to connect, or for the next check. */
  timer: ReturnType<typeof setTimeout> | undefined
  ended: boolean
}

/**
 * Carries messages as notifications (NOTIFY) of the database, on separate channels. Each call of `listen` opens a connection, which is also
 * used to send. While no connection is open, `send` throws. A network can drop a connection without telling this process. So if no message
 * has arrived for some seconds, this process sends one to its first address. If the server does not answer, the connection is replaced.
 */
export function createPostgresRelay(database: Database, schema: string): Relay & { close(): void } {
  const connections = new Set<Connection>()
  const name = createHash('sha256').update(schema).digest('hex').slice(0, 12)
  const channelOf = (address: string) => `daybook_live_${name}_${address}` // shorter than 63 bytes, as the name of a channel has to be

  function connect(connection: Connection): void {
    const channels = connection.addresses.map(channelOf)
    let wasHeard = false // since the last check
    let isProbed = false
    const wait = (ms: number, then: () => void) => {
      clearTimeout(connection.timer)
      connection.timer = setTimeout(then, ms).unref()
    }
    const lost = () => {
      connection.open = undefined
      if (!connection.ended) wait(RECONNECT_MS, () => connect(connection))
    }
    const onNotice = (text: string) => {
      wasHeard = true
      if (text !== PROBE) connection.listener.onMessage(text)
    }
    const check = (open: Listening) => {
      if (!wasHeard && isProbed) {
        void open.close()
        return lost()
      }
      isProbed = !wasHeard
      wasHeard = false
      if (isProbed)
        open.notify(channels[0] ?? '', PROBE).then(
          () => {
            wasHeard = true // the server has answered
          },
          () => {}, // the next check replaces the connection
        )
      wait(CHECK_MS, () => check(open))
    }
    database.listen(onNotice, lost, channels).then((open) => {
      if (connection.ended) return void open.close()
      connection.open = open
      wait(CHECK_MS, () => check(open))
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
