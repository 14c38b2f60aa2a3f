import { createHash } from 'node:crypto'
import type { Relay, RelayListener } from '../../ports/store/relay.ts'
import { connectRedis, type RedisConnection } from './redis-connection.ts'

/** Options of `createRedisRelay`. */
export interface RedisOptions {
  /** The address of the server, such as `redis://user:password@host:6379`, or `rediss://…` for TLS. */
  readonly url: string
  /** Distinguishes installations that use the same server. Relays with the same name are connected with each other. */
  readonly name: string
}

const MAX_BYTES = 60_000
const FIRST_WAIT_MS = 250
const MAX_WAIT_MS = 5_000

/**
 * Carries messages over channels of Redis (PUBLISH and SUBSCRIBE). Redis stores nothing. While the server can not be reached, messages are
 * not sent, and the relay tries to connect again.
 */
export function createRedisRelay({ url, name }: RedisOptions): Relay & { close(): void } {
  const prefix = `daybook:live:${createHash('sha256').update(name).digest('hex').slice(0, 16)}:`
  const ends = new Set<() => void>()
  const sender = keepConnected(url, {})
  ends.add(sender.end)
  return {
    maxBytes: MAX_BYTES,
    async send(address, text) {
      const connection = sender.current()
      if (!connection) throw new Error('there is no connection to Redis')
      await connection.command('PUBLISH', prefix + address, text)
    },
    listen(addresses, listener) {
      const { end } = keepConnected(url, { addresses: addresses.map((address) => prefix + address), listener, sender })
      ends.add(end)
      return () => {
        ends.delete(end)
        end()
      }
    },
    close() {
      for (const end of ends) end()
      ends.clear()
    },
  }
}

interface KeptConnection {
  current(): RedisConnection | undefined
  /** Resolves when the connection is open. */
  readonly opened: () => Promise<void>
  end(): void
}

interface Subscription {
  readonly addresses: readonly string[]
  readonly listener: RelayListener
  /** The connection that sends. The listener is told that the relay is connected when both connections are open. */
  readonly sender: KeptConnection
}

/**
 * Keeps a connection open, to send messages or to receive those of a subscription. Redis does not accept other messages on a subscribed
 * connection, so a relay needs two connections.
 */
function keepConnected(url: string, { addresses = [], listener, sender }: Partial<Subscription>): KeptConnection {
  let connection: RedisConnection | undefined
  /** The latest connection that was opened. It becomes `connection` when it has subscribed to all addresses. */
  let latest: RedisConnection | undefined
  let opened = Promise.withResolvers<void>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let wait = FIRST_WAIT_MS
  let ended = false

  function lost(): void {
    if (connection) opened = Promise.withResolvers()
    connection = undefined
    if (ended) return
    timer = setTimeout(() => void open(), wait).unref()
    wait = Math.min(wait * 2, MAX_WAIT_MS)
  }

  async function open(): Promise<void> {
    timer = undefined
    let next: RedisConnection | undefined
    try {
      const onMessage = (_channel: string, text: string) => listener?.onMessage(text)
      next = await connectRedis(url, { onMessage, onLost: lost })
      latest = next
      if (ended) return next.close()
      // Redis sends one reply for each subscription, so each subscription is a command of its own
      for (const address of addresses) await next.command('SUBSCRIBE', address)
      connection = next
      wait = FIRST_WAIT_MS
      opened.resolve()
      await sender?.opened()
      if (connection === next && !ended) listener?.onConnected()
    } catch {
      next?.close() // the connection is still open if the server has refused a subscription
      if (!connection && timer === undefined) lost() // if an open connection was lost, `onLost` has called `lost` already
    }
  }

  void open()
  return {
    current: () => connection,
    opened: () => opened.promise,
    end() {
      ended = true
      clearTimeout(timer)
      latest?.close()
      connection = undefined
    },
  }
}

/** The version of a Redis server. Throws if the server can not be reached. */
export async function describeRedis(url: string): Promise<{ readonly version: string }> {
  const connection = await connectRedis(url, { onLost: () => {} })
  try {
    const info = String(await connection.command('INFO', 'server'))
    const line = info.split('\r\n').find((text) => text.startsWith('redis_version:'))
    return { version: line?.slice('redis_version:'.length) ?? 'unknown' }
  } finally {
    connection.close()
  }
}

/** What to do about an error of a connection, by a part of its code or message. */
const adviceOf: readonly (readonly [part: string, advice: string])[] = [
  ['ECONNREFUSED', 'start the server, or check host and port in DAYBOOK_REDIS_URL'],
  ['ENOTFOUND', 'check the host in DAYBOOK_REDIS_URL'],
  ['EAI_AGAIN', 'check the host in DAYBOOK_REDIS_URL, and the name service of this machine'],
  ['EHOSTUNREACH', 'check the host in DAYBOOK_REDIS_URL, and the network'],
  ['does not answer', 'check host and port in DAYBOOK_REDIS_URL, and the firewall'],
  ['NOAUTH', 'the server wants a password: add it to DAYBOOK_REDIS_URL, as in redis://:password@host'],
  ['WRONGPASS', 'check user and password in DAYBOOK_REDIS_URL'],
  ['NOPERM', 'allow the user PUBLISH and SUBSCRIBE on channels that begin with daybook:live:'],
  ['does not speak the protocol', 'check the port in DAYBOOK_REDIS_URL, and whether the server wants TLS (rediss://)'],
  ['CERT', 'use rediss:// with the host name that is in the certificate of the server'],
]

/** What a user can do about an error of a connection. Undefined for other errors. */
export function redisAdvice(error: unknown): string | undefined {
  const { code = '', message = '' } = (error ?? {}) as { readonly code?: string; readonly message?: string }
  return adviceOf.find(([part]) => code.includes(part) || message.includes(part))?.[1]
}
