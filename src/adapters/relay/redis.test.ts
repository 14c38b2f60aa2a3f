import { createServer, type Socket } from 'node:net'
import fc from 'fast-check'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { hasRedis, startRedis } from '../../../test/support/redis.ts'
import { describeRelay } from '../../testing/conformance/relay.ts'
import { createRedisRelay, describeRedis, redisAdvice } from './redis.ts'
import { createReplyReader, formatCommand, type RedisReply } from './redis-protocol.ts'

describe.skipIf(!hasRedis)('with a real server', async () => {
  const server = hasRedis ? await startRedis({ password: 'a secret/@' }) : undefined
  const url = `redis://:${encodeURIComponent('a secret/@')}@${server?.url.split('@').at(-1)}`
  afterAll(() => server?.stop())
  const opened: { close(): void }[] = []
  afterEach(() => {
    for (const relay of opened.splice(0)) relay.close()
  })
  let names = 0

  describeRelay({ describe, it, expect }, 'the relay over Redis', async () => {
    const name = `test ${++names}`
    return {
      async open() {
        const relay = createRedisRelay({ url, name })
        opened.push(relay)
        return relay
      },
      cutConnections: async () => server?.restart(),
    }
  })

  it('says which version the server has, and what to do if it can not be reached or wants another password', async () => {
    expect((await describeRedis(url)).version).toMatch(/^\d+\.\d+/)
    const adviceFor = (address: string) => describeRedis(address).then(() => 'no error', redisAdvice)
    const place = url.split('@').at(-1) ?? ''
    expect(await adviceFor('redis://127.0.0.1:1')).toContain('start the server')
    expect(await adviceFor(`redis://${place}`)).toContain('wants a password')
    expect(await adviceFor(`redis://:wrong@${place}`)).toContain('check user and password')
  })
})

it('a server of another kind is refused, and the relay goes on trying', async () => {
  let connections = 0
  const server = createServer((socket) => {
    connections++
    socket.on('error', () => {})
    socket.resume()
    socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const relay = createRedisRelay({ url: `redis://127.0.0.1:${port}`, name: 'x' })
  const end = relay.listen(['all'], { onMessage: () => {}, onConnected: () => expect.unreachable() })
  await expect.poll(() => connections).toBeGreaterThan(3)
  await expect(relay.send('all', 'x')).rejects.toThrow('no connection to Redis')
  end()
  relay.close()
  await new Promise((resolve) => server.close(resolve))
})

it('a connection that subscribes while the listener ends is closed', async () => {
  const sockets = new Set<Socket>()
  const subscribing = Promise.withResolvers<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket.on('close', () => void sockets.delete(socket)).on('error', () => {}))
    socket.on('data', (bytes) => {
      if (bytes.includes('SUBSCRIBE')) subscribing.resolve(socket)
      else socket.write('+PONG\r\n')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const relay = createRedisRelay({ url: `redis://127.0.0.1:${port}`, name: 'x' })
  const received: string[] = []
  const end = relay.listen(['all'], { onMessage: (text) => void received.push(text), onConnected: () => expect.unreachable() })
  const socket = await subscribing.promise
  end()
  relay.close()
  socket.write(formatCommand(['subscribe', 'all', '1']) + formatCommand(['message', 'all', 'late']))
  await expect.poll(() => sockets.size).toBe(0)
  expect(received).toEqual([])
  await new Promise((resolve) => server.close(resolve))
})

describe('replies of Redis', () => {
  const encode = (reply: RedisReply): string => {
    if (typeof reply === 'number') return `:${reply}\r\n`
    if (reply === null) return '$-1\r\n'
    if (typeof reply === 'string') return `$${Buffer.byteLength(reply)}\r\n${reply}\r\n`
    if (reply instanceof Error) return `-${reply.message}\r\n`
    return `*${reply.length}\r\n${reply.map(encode).join('')}`
  }
  const simple = fc.oneof(fc.string({ unit: 'grapheme' }), fc.integer(), fc.constant(null))
  const replies = fc.array(fc.oneof(simple, fc.array(simple, { maxLength: 5 })))

  it('are read as they were sent, wherever the pieces are cut', () => {
    fc.assert(
      fc.property(replies, fc.array(fc.nat(200)), (sent, cuts) => {
        const bytes = Buffer.from(sent.map(encode).join(''))
        const received: RedisReply[] = []
        const read = createReplyReader((reply) => received.push(reply))
        const ends = [...new Set([...cuts.filter((cut) => cut < bytes.length), bytes.length])].sort((a, b) => a - b)
        for (const [index, end] of ends.entries()) read(bytes.subarray(ends[index - 1] ?? 0, end))
        expect(received).toEqual(sent)
      }),
    )
  })

  it('of a wrong form or an enormous size are refused', () => {
    const read = (text: string) => createReplyReader(() => {})(Buffer.from(text))
    for (const text of ['?\r\n', '$x\r\n', '$99999999\r\n', '*100000000\r\n', '$-2\r\n', '*1\r\n'.repeat(10)])
      expect(() => read(text)).toThrow('Redis')
    expect(formatCommand(['PUBLISH', 'ü'])).toBe('*2\r\n$7\r\nPUBLISH\r\n$2\r\nü\r\n')
  })
})
