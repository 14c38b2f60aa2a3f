import { writeFileSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { createFileBlobs } from '../../src/adapters/blobs/file.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createHosting } from '../../src/adapters/hosting/hosting.ts'
import { createMemoryObjects } from '../../src/adapters/hosting/memory-objects.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { localScope } from '../../src/core/scope.ts'
import type { ServerSettings } from '../../src/server/settings.ts'
import { closeServers, openServer } from '../support/server-fixture.ts'

const folders: string[] = []
const responses: IncomingMessage[] = []
afterEach(async () => {
  for (const response of responses.splice(0)) response.destroy()
  await closeServers()
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true })
})

/** A server that hosts one file with these bytes. Its blobs are files on disk. */
async function openWithFile(content: Uint8Array, server: Partial<ServerSettings> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'daybook-download-'))
  folders.push(folder)
  const clock = createSystemClock()
  const blobs = createFileBlobs({ folder })
  const hosting = createHosting({ objects: createMemoryObjects(), blobs })
  const owner = { owner: localScope, conversationId: 'c1', turnId: 't1', stage: 'file' } as const
  const file = { ...owner, physicalPath: 't1/files/data.bin', mime: 'application/octet-stream', ts: clock.now(), content }
  const { rn, blob } = await hosting.host(file)
  const opened = await openServer({ store: createMemoryStore({ blobs, clock }), hosting, clock, server })
  const blobFile = join(folder, blob.sha256.slice(0, 2), blob.sha256)
  return {
    ...opened,
    blobFile,
    rn,
    path: `/v1/resources/${encodeURIComponent(rn)}`,
    url: `${opened.server.url}/v1/resources/${encodeURIComponent(rn)}`,
    tag: `"${blob.sha256}"`,
  }
}

/** Opens a download and reads nothing of its body. */
async function openWithoutReading(url: string): Promise<IncomingMessage> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => void get(url, { agent: false }, resolve).once('error', reject))
  responses.push(response)
  response.on('error', () => {})
  return response
}

const digits = new TextEncoder().encode('0123456789')
/** More than the buffers of a connection hold. */
const large = new Uint8Array(32 * 1024 * 1024).map((_, index) => index % 251)

it('a file is found by its name, whether the name is encoded again for the address or not', async () => {
  const { rn, url, server } = await openWithFile(digits)
  expect(rn).toContain('%2F')
  const textAt = async (address: string) => {
    const response = await fetch(address)
    return [response.status, response.ok ? await response.text() : undefined]
  }
  expect(await textAt(url)).toEqual([200, '0123456789'])
  expect(await textAt(`${server.url}/v1/resources/${rn}`)).toEqual([200, '0123456789'])
  expect(await textAt(`${server.url}/v1/resources/${rn}?download`)).toEqual([200, '0123456789'])
  for (const wrong of [rn.replaceAll('%2F', '/'), `${rn}x`, encodeURIComponent(encodeURIComponent(rn)), '%'])
    expect((await textAt(`${server.url}/v1/resources/${wrong}`))[0]).toBe(404)
})

describe('a range of a file', () => {
  const answer = async (url: string, headers: Record<string, string>, method = 'GET') => {
    const response = await fetch(url, { headers, method })
    return [response.status, await response.text(), response.headers.get('content-range'), response.headers.get('content-length')]
  }
  const whole = [200, '0123456789', null, '10']

  it('is sent with 206 and its position', async () => {
    const { url } = await openWithFile(digits)
    expect(await answer(url, { range: 'bytes=2-4' })).toEqual([206, '234', 'bytes 2-4/10', '3'])
    expect(await answer(url, { range: 'bytes=7-' })).toEqual([206, '789', 'bytes 7-9/10', '3'])
    expect(await answer(url, { range: 'bytes=7-99' })).toEqual([206, '789', 'bytes 7-9/10', '3'])
    expect(await answer(url, { range: 'bytes=-4' })).toEqual([206, '6789', 'bytes 6-9/10', '4'])
    expect(await answer(url, { range: 'bytes=-99' })).toEqual([206, '0123456789', 'bytes 0-9/10', '10'])
    expect(await answer(url, { range: 'Bytes=0-0' })).toEqual([206, '0', 'bytes 0-0/10', '1'])
  })

  it('is answered with 416 if the file does not have it', async () => {
    const { url } = await openWithFile(digits)
    for (const range of ['bytes=10-', 'bytes=10-12', 'bytes=-0']) {
      const response = await fetch(url, { headers: { range } })
      expect([response.status, response.headers.get('content-range')]).toEqual([416, 'bytes */10'])
      expect(await response.json()).toMatchObject({ code: 'resource.range' })
    }
  })

  it('is answered with the whole file if it is invalid, of another unit, of several parts, or of another version', async () => {
    const { url } = await openWithFile(digits)
    for (const range of ['bytes=4-2', 'bytes=-', 'bytes=a-b', 'lines=1-2', 'bytes=0-1,4-5', 'bytes 0-1', '']) {
      expect(await answer(url, { range })).toEqual(whole)
    }
    for (const ifRange of ['"other"', 'Wed, 21 Oct 2026 07:28:00 GMT']) {
      expect(await answer(url, { range: 'bytes=2-4', 'if-range': ifRange })).toEqual(whole)
    }
  })

  it('is sent if If-Range has the tag of the file, and not for a weak tag', async () => {
    const { url, tag } = await openWithFile(digits)
    expect(await answer(url, { range: 'bytes=2-4', 'if-range': tag })).toEqual([206, '234', 'bytes 2-4/10', '3'])
    expect(await answer(url, { range: 'bytes=2-4', 'if-range': `W/${tag}` })).toEqual(whole)
  })

  it('is ignored in a HEAD request, which has the length of the whole file and no body', async () => {
    const { url } = await openWithFile(digits)
    expect(await answer(url, { range: 'bytes=2-4' }, 'HEAD')).toEqual([200, '', null, '10'])
    expect(await answer(url, {}, 'HEAD')).toEqual([200, '', null, '10'])
  })

  it('comes after the conditions on the tag: 304 and 412 win', async () => {
    const { url, tag } = await openWithFile(digits)
    expect((await fetch(url, { headers: { range: 'bytes=2-4', 'if-none-match': `W/${tag}` } })).status).toBe(304)
    expect((await fetch(url, { headers: { range: 'bytes=2-4', 'if-match': '"other"' } })).status).toBe(412)
    expect((await fetch(url, { headers: { 'if-match': `W/${tag}` } })).status).toBe(412) // a weak tag never matches here
    expect((await fetch(url, { headers: { 'if-match': tag } })).status).toBe(200)
  })

  it('of an empty file is the empty file', async () => {
    const { url } = await openWithFile(new Uint8Array())
    expect(await answer(url, {})).toEqual([200, '', null, '0'])
    expect(await answer(url, { range: 'bytes=-5' })).toEqual([200, '', null, '0'])
    expect((await fetch(url, { headers: { range: 'bytes=0-' } })).status).toBe(416)
  })

  it('can begin and end anywhere in a large file', async () => {
    const { url } = await openWithFile(large)
    for (const [start, end] of [
      [0, large.length - 1],
      [65_535, 65_536],
      [1_000_003, 9_999_991],
    ] as const) {
      const bytes = new Uint8Array(await (await fetch(url, { headers: { range: `bytes=${start}-${end}` } })).arrayBuffer())
      expect(Buffer.compare(bytes, large.subarray(start, end + 1))).toBe(0)
    }
    expect(Buffer.compare(new Uint8Array(await (await fetch(url)).arrayBuffer()), large)).toBe(0)
  })
})

describe('downloads', () => {
  it('of one user are limited; the place is free again when the reader leaves, has all bytes, or asked for none', async () => {
    const { url } = await openWithFile(large, { downloadsPerUser: 2 })
    const [first] = [await openWithoutReading(url), await openWithoutReading(url)]
    const refused = await fetch(url)
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true])
    expect(await refused.json()).toMatchObject({ code: 'request.too_many' })
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(200)
    first?.destroy()
    await expect.poll(async () => (await fetch(url, { headers: { range: 'bytes=0-9' } })).status).toBe(206)
    for (let round = 0; round < 5; round++) {
      expect((await fetch(url, { method: 'HEAD' })).status).toBe(200)
      await expect.poll(async () => (await (await fetch(url)).arrayBuffer()).byteLength).toBe(large.length)
    }
  })

  it('of a reader that reads nothing are ended after a while', async () => {
    const { url } = await openWithFile(large, { downloadIdleMs: 100 })
    const silent = await openWithoutReading(url)
    await new Promise((resolve) => setTimeout(resolve, 300))
    let received = 0
    const reading = (async () => {
      for await (const piece of silent) received += piece.length
    })()
    await expect(reading).rejects.toThrow('aborted')
    expect(received).toBeLessThan(large.length)
  })

  it('keep no file open for a reader that left', async () => {
    const { url, blobFile } = await openWithFile(large)
    const openFiles = async () => {
      const names = await readdir('/proc/self/fd')
      const { readlinkSync } = await import('node:fs')
      return names.filter((name) => {
        try {
          return readlinkSync(`/proc/self/fd/${name}`) === blobFile
        } catch {
          return false // the listing has its own descriptor, which is closed now
        }
      }).length
    }
    const silent = await openWithoutReading(url)
    expect(await openFiles()).toBe(1)
    silent.destroy()
    await expect.poll(openFiles).toBe(0)
  })

  it('of a file whose bytes were changed on disk never complete, and the log says why', async () => {
    const { url, blobFile, lines } = await openWithFile(large)
    writeFileSync(
      blobFile,
      large.map((byte, index) => (index === 17 ? byte + 1 : byte)),
    )
    await expect(fetch(url).then((response) => response.arrayBuffer())).rejects.toThrow()
    expect(lines.filter((line) => line.includes('download.failed'))).toHaveLength(1)
    writeFileSync(blobFile, large.subarray(0, 100))
    expect((await fetch(url, { headers: { range: 'bytes=50-200' } })).status).toBe(500)
  })

  it('of a file whose bytes are gone are answered with 404', async () => {
    const { url, blobFile } = await openWithFile(digits)
    await rm(blobFile)
    const response = await fetch(url)
    expect([response.status, await response.json()]).toMatchObject([404, { code: 'blob.missing' }])
  })
})
