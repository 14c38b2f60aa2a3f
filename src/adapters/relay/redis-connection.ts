import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { createReplyReader, formatCommand, type RedisReply } from './redis-protocol.ts'

/**
 * How long a connection may take to open, the time between two PINGs, and how long the server may be silent before the connection is
 * closed.
 */
const CONNECT_MS = 10_000
const PING_MS = 10_000
const SILENCE_MS = 25_000
/** How many bytes may wait to be sent. Further messages are refused. */
const MAX_WAITING = 8 * 1024 * 1024

/** An open connection to Redis. */
export interface RedisConnection {
  /** Sends a command, and resolves with its reply. Rejects with the error of Redis, or if the connection is lost. */
  command(...words: readonly string[]): Promise<RedisReply>
  close(): void
}

interface ConnectionEvents {
  /** Called for each message of a channel that the connection subscribes to. */
  onMessage?(channel: string, text: string): void
  /** Called once when an open connection is lost. Not called after `close`. */
  onLost(error: Error): void
}

/**
 * Opens a connection to an address such as `redis://user:password@host:6379`, or `rediss://…` with TLS. This is a small client without a
 * package. Publishing and subscribing need only five commands, and a package would add code for many others. An open connection does not
 * keep the process running.
 */
export async function connectRedis(url: string, { onMessage, onLost }: ConnectionEvents): Promise<RedisConnection> {
  const { protocol, hostname, port, username, password } = new URL(url)
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  const place = { host: host === '' ? '127.0.0.1' : host, port: port === '' ? 6379 : Number(port) }
  const socket: Socket = protocol === 'rediss:' ? connectTls({ ...place, servername: place.host }) : connect(place)
  const waiting: PromiseWithResolvers<RedisReply>[] = []
  let state: 'opening' | 'open' | 'ended' = 'opening'
  let heardAt = performance.now()

  function end(error: Error): void {
    if (state === 'ended') return
    const wasOpen = state === 'open'
    state = 'ended'
    clearInterval(pings)
    socket.destroy()
    for (const { reject } of waiting.splice(0)) reject(error)
    if (wasOpen) onLost(error)
  }

  function onReply(reply: RedisReply): void {
    if (Array.isArray(reply)) {
      const [kind, channel, text] = reply as readonly RedisReply[]
      if (kind === 'message') return void onMessage?.(String(channel), String(text))
      if (kind === 'pong') return // the reply to a PING while the connection subscribes
    }
    const next = waiting.shift()
    if (reply instanceof Error) next?.reject(reply)
    else next?.resolve(reply)
  }

  const read = createReplyReader(onReply)
  socket.on('data', (piece: Buffer) => {
    heardAt = performance.now()
    try {
      read(piece)
    } catch (error) {
      end(error as Error)
    }
  })
  socket.on('error', end)
  socket.on('close', () => end(new Error('the connection to Redis was closed')))
  socket.setNoDelay(true)
  let subscribes = false
  const pings = setInterval(() => {
    if (performance.now() - heardAt > SILENCE_MS) return end(new Error('Redis does not answer'))
    if (state !== 'open') return
    if (subscribes) socket.write(formatCommand(['PING']))
    else command('PING').catch(() => {}) // ignored, because a lost connection is reported by `onLost`
  }, PING_MS).unref()

  function command(...words: readonly string[]): Promise<RedisReply> {
    if (state === 'ended') return Promise.reject(new Error('the connection to Redis was closed'))
    if (socket.writableLength > MAX_WAITING) return Promise.reject(new Error('Redis is too slow'))
    const reply = Promise.withResolvers<RedisReply>()
    waiting.push(reply)
    if (words[0] === 'SUBSCRIBE') subscribes = true
    socket.write(formatCommand(words))
    return reply.promise
  }

  const opening = setTimeout(() => end(new Error('Redis does not answer')), CONNECT_MS)
  try {
    const name = decodeURIComponent(username)
    if (password !== '') await command('AUTH', ...(name === '' ? [] : [name]), decodeURIComponent(password))
    else await command('PING')
  } catch (error) {
    end(error as Error)
    throw error
  } finally {
    clearTimeout(opening)
  }
  state = 'open'
  socket.unref()
  return {
    command,
    close() {
      state = 'ended'
      clearInterval(pings)
      socket.destroy()
      for (const { reject } of waiting.splice(0)) reject(new Error('the connection to Redis was closed'))
    },
  }
}
