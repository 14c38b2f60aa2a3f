import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Answer, type LocalSite, redirectTo, startSite } from '../../../test/support/web/local-site.ts'
import { createFetcher, type FetcherOptions } from './fetcher.ts'

const page = 'Grüße. '.repeat(1_000)
const encoded =
  (bytes: Uint8Array, encoding: string): Answer =>
  (_, response) =>
    void response.writeHead(200, { 'content-type': 'text/html; charset="UTF-8"', 'content-encoding': encoding }).end(bytes)

const zeros = Buffer.alloc(64 * 1024 * 1024)
const noise = randomBytes(300_000)

let site: LocalSite
beforeAll(async () => {
  site = await startSite({
    '/plain': page,
    '/gzip': encoded(gzipSync(page), 'gzip'),
    '/deflate': encoded(deflateSync(page), 'deflate'),
    '/raw-deflate': encoded(deflateRawSync(page), 'Deflate'),
    '/br': encoded(brotliCompressSync(page), 'br'),
    '/zstd': encoded(zstdCompressSync(page), 'zstd'),
    '/twice': encoded(brotliCompressSync(gzipSync(page)), 'gzip, br'),
    '/thrice': encoded(gzipSync(gzipSync(gzipSync(page))), 'gzip, gzip, gzip'),
    '/unknown': encoded(Buffer.from(page), 'compress'),
    '/broken': encoded(Buffer.from('not compressed at all'), 'gzip'),
    '/bomb-gzip': encoded(gzipSync(zeros), 'gzip'),
    '/bomb-br': encoded(brotliCompressSync(zeros), 'br'),
    '/bomb-zstd': encoded(zstdCompressSync(zeros), 'zstd'),
    '/bomb-twice': encoded(gzipSync(gzipSync(zeros)), 'gzip, gzip'),
    '/noise': encoded(gzipSync(noise), 'gzip'),
    '/endless': (_, response) => {
      response.writeHead(200)
      const timer = setInterval(() => response.write(Buffer.alloc(64 * 1024)), 1)
      response.on('close', () => clearInterval(timer))
    },
    '/no-headers': () => {},
    '/slow-body': (_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' })
      const timer = setInterval(() => response.write('.'), 20)
      response.on('close', () => clearInterval(timer))
    },
    '/breaks-off': (_, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('half')
      setTimeout(() => response.destroy(), 20)
    },
    '/once': redirectTo('/twice-on'),
    '/twice-on': redirectTo('/plain', 307),
    '/no-location': (_, response) => void response.writeHead(302, { 'content-type': 'text/html' }).end('stay'),
    '/gone': (_, response) => void response.writeHead(410, { 'last-modified': 'Tue, 02 Jan 2024 00:00:00 GMT' }).end('gone'),
  })
})
afterAll(() => site.close())

const never = new AbortController().signal
const fetcher = (options: FetcherOptions = {}) => createFetcher({ allow: [site.host], robots: 'ignore', ...options })
const get = (path: string, options: FetcherOptions = {}) => fetcher(options).get(site.url(path), { signal: never })

describe('a body', () => {
  it.each(['/plain', '/gzip', '/deflate', '/raw-deflate', '/br', '/zstd', '/twice'])('%s is decompressed', async (path) => {
    const response = await get(path)
    expect(response).toMatchObject({ ok: true, status: 200, mime: 'text/html', charset: 'utf-8', url: site.url(path) })
    expect(response.ok && Buffer.from(response.bytes).toString()).toBe(page)
  })

  it.each([
    ['/thrice', 'the body is compressed more than twice'],
    ['/unknown', 'the body has an encoding that is not supported'],
    ['/broken', 'the body can not be decompressed'],
    ['/breaks-off', 'the host closed the connection'],
  ])('%s fails: %s', async (path, message) => {
    expect(await get(path)).toEqual({ ok: false, reason: 'failed', message: expect.stringContaining(message) })
  })

  it.each(['/bomb-gzip', '/bomb-br', '/bomb-zstd', '/bomb-twice'])('%s is given up long before it is expanded', async (path) => {
    const before = process.memoryUsage().arrayBuffers
    expect(await get(path, { maxBytes: 2 ** 30 })).toMatchObject({
      ok: false,
      reason: 'too_large',
      message: expect.stringContaining('200'),
    })
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(zeros.length / 2)
  })

  it('that is too large is given up, whether it is compressed or not', async () => {
    const tooLarge = { ok: false, reason: 'too_large', message: 'the body is larger than 100000 bytes' }
    expect(await get('/noise', { maxBytes: 100_000 })).toEqual(tooLarge)
    expect(await get('/endless', { maxBytes: 100_000 })).toEqual(tooLarge)
    expect(await get('/noise', { maxBytes: 400_000 })).toMatchObject({ ok: true })
  })
})

describe('time', () => {
  const limits = { connectMs: 5_000, headersMs: 100, totalMs: 5_000 }

  it('a host that sends no headers is given up', async () => {
    expect(await get('/no-headers', { limits })).toMatchObject({ ok: false, reason: 'timeout' })
  })

  it('a body that never ends is given up', async () => {
    expect(await get('/slow-body', { limits: { totalMs: 200 } })).toMatchObject({ ok: false, reason: 'timeout' })
  })

  it('an aborted request throws the reason of the signal', async () => {
    const controller = new AbortController()
    const running = fetcher().get(site.url('/slow-body'), { signal: controller.signal })
    await wait(50)
    controller.abort(new Error('stop'))
    await expect(running).rejects.toThrow('stop')
    await expect(fetcher().get(site.url('/plain'), { signal: controller.signal })).rejects.toThrow('stop')
  })
})

describe('a response', () => {
  it('comes from the end of the redirects', async () => {
    expect(await get('/once')).toMatchObject({ ok: true, url: site.url('/plain') })
    expect(await get('/once', { maxRedirects: 1 })).toMatchObject({ ok: false, reason: 'refused' })
    expect(await get('/no-location')).toMatchObject({ ok: true, status: 302 })
  })

  it('has any status', async () => {
    expect(await get('/gone')).toMatchObject({ ok: true, status: 410, lastModified: 'Tue, 02 Jan 2024 00:00:00 GMT' })
    expect(await get('/nothing')).toMatchObject({ ok: true, status: 404 })
  })

  it('is requested with an honest name and without cookies', async () => {
    await get('/plain')
    expect(site.headers.at(-1)).toMatchObject({ 'user-agent': expect.stringMatching(/^Daybook/), host: site.host })
    expect(Object.keys(site.headers.at(-1) ?? {})).not.toEqual(expect.arrayContaining(['cookie', 'referer', 'authorization']))
  })

  it('is a failure when the host does not exist or does not answer', async () => {
    const gone = await startSite({})
    await gone.close()
    const options = { allow: [gone.host, 'a.example'], robots: 'ignore' } as const
    expect(await createFetcher(options).get(gone.url('/'), { signal: never })).toEqual({
      ok: false,
      reason: 'failed',
      message: 'the host does not accept connections',
    })
    const resolve = async () => Promise.reject(Object.assign(new Error('x'), { code: 'ENOTFOUND' }))
    expect(await createFetcher({ ...options, resolve }).get('http://a.example/', { signal: never })).toEqual({
      ok: false,
      reason: 'failed',
      message: 'the name of the host is not known',
    })
  })
})

describe('robots.txt', () => {
  async function withRobots(robots: Answer, paths: readonly string[], options: FetcherOptions = { robots: 'respect' }) {
    let asked = 0
    const own = await startSite({
      '/robots.txt': (request, response) => {
        asked++
        if (typeof robots === 'string') response.end(robots)
        else robots(request, response)
      },
      ...Object.fromEntries(paths.map((path) => [path, 'hello'])),
    })
    const fetching = createFetcher({ allow: [own.host], ...options })
    const answers = []
    for (const path of paths) answers.push(await fetching.get(own.url(path), { signal: never }))
    await own.close()
    return { seen: answers.map((answer) => (answer.ok ? answer.status : answer.reason)), asked }
  }

  it('is obeyed, and read once for all pages of a site', async () => {
    const file = 'User-agent: *\nDisallow: /private\nAllow: /private/open\n'
    expect(await withRobots(file, ['/a', '/private/x', '/private/open'])).toEqual({ seen: [200, 'robots', 200], asked: 1 })
  })

  it('is not read if the setting says so', async () => {
    expect(await withRobots('User-agent: *\nDisallow: /', ['/a'], { robots: 'ignore' })).toEqual({ seen: [200], asked: 0 })
  })

  it('allows everything when it is missing, and nothing when the server is broken', async () => {
    const status =
      (code: number): Answer =>
      (_, response) =>
        void response.writeHead(code).end()
    expect((await withRobots(status(404), ['/a'])).seen).toEqual([200])
    expect((await withRobots(status(503), ['/a'])).seen).toEqual(['robots'])
  })

  it('may not lead into a private network either', async () => {
    expect((await withRobots(redirectTo('http://127.0.0.2:1/'), ['/a'])).seen).toEqual(['refused'])
  })
})
