import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { Failure } from '../../core/failure.ts'
import { createObjectBlobs } from './blobs-in-objects.ts'
import { createS3Objects, type S3Options } from './s3-objects.ts'

const secrets = { accessKeyId: 'AKIATHEACCESSKEY', secretAccessKey: 'the-secret-key', sessionToken: 'the-session-token' }
const bytes = (text: string) => new TextEncoder().encode(text)
const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const server of open.splice(0)) await server.close()
})

/** Starts an S3 server that sends these responses in order. All further requests get the last response. */
async function scriptedS3(...answers: ((request: IncomingMessage, response: ServerResponse) => void)[]) {
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    const answer = answers[Math.min(requests.length, answers.length) - 1]
    request.resume().on('end', () => answer?.(request, response))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const options: S3Options = {
    endpoint: `http://127.0.0.1:${port}/`,
    bucket: 'b',
    prefix: 'p',
    region: 'eu-west-1',
    retryDelayMs: 1,
    ...secrets,
  }
  open.push({
    async close() {
      server.closeAllConnections()
      server.close()
    },
  })
  return { requests, options }
}

const respond =
  (status: number, body = '') =>
  (_: IncomingMessage, response: ServerResponse) =>
    void response.writeHead(status).end(body)
const respondError = (status: number, code: string, more = '') =>
  respond(status, `<?xml version="1.0"?><Error><Code>${code}</Code>${more}</Error>`)
const failureOf = async (work: Promise<unknown>): Promise<Failure> => {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof Failure)) throw new Error(`no Failure: ${error}`)
  return error
}

it('retries while the server is busy or broken', async () => {
  const { requests, options } = await scriptedS3(
    respondError(503, 'SlowDown'),
    respondError(429, 'TooManyRequests'),
    respondError(500, 'InternalError'),
    respond(200),
  )
  await createS3Objects(options).put('k', bytes('x'))
  expect(requests).toEqual(Array(4).fill('PUT /b/p/k'))
})

it('retries when the connection breaks', async () => {
  const { requests, options } = await scriptedS3((request) => void request.socket.destroy(), respond(200, 'x'))
  expect(await createS3Objects(options).get('k')).toEqual(bytes('x'))
  expect(requests).toHaveLength(2)
})

it.each([
  [500, 'InternalError', 4],
  [503, 'SlowDown', 8],
  [429, 'TooManyRequests', 8],
])('gives up after some attempts, with the response of the server: %s %s', async (status, code, attempts) => {
  const { requests, options } = await scriptedS3(respondError(status, code))
  await expect(createS3Objects(options).get('k')).rejects.toMatchObject({
    code: 'hosting.failed',
    message: `S3 answered GET with ${status} ${code}, ${attempts} times`,
  })
  expect(requests).toHaveLength(attempts)
})

it('waits for as long as the server asks for', async () => {
  const times: number[] = []
  const { options } = await scriptedS3((request, response) => {
    times.push(performance.now())
    if (times.length > 1) return respond(200, 'x')(request, response)
    response.writeHead(503, { 'Retry-After': '1' }).end()
  })
  expect(await createS3Objects(options).get('k')).toEqual(bytes('x'))
  expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(990)
})

it('gives up when the server does not respond in time', async () => {
  const { options } = await scriptedS3(() => {})
  const failure = await failureOf(createS3Objects({ ...options, timeoutMs: 20 }).get('k'))
  expect(failure.message).toBe('S3 answered GET with nothing (TimeoutError), 4 times')
})

it('reports a server that can not be reached and an invalid address', async () => {
  const { options } = await scriptedS3(respond(200))
  await open.pop()?.close()
  expect((await failureOf(createS3Objects(options).get('k'))).message).toBe('S3 answered GET with nothing (ECONNREFUSED), 4 times')
  expect(() => createS3Objects({ ...options, endpoint: 'nowhere' })).toThrow('begin it with https://')
})

it.each([
  ['AccessDenied', 403, 'allow these credentials'],
  ['NoSuchBucket', 404, 'make the bucket'],
  ['InvalidAccessKeyId', 403, 'correct the access key'],
  ['SignatureDoesNotMatch', 403, 'correct the secret access key'],
])('gives advice for %s without a retry, and reveals no secret', async (code, status, advice) => {
  const echoed = `<AWSAccessKeyId>${secrets.accessKeyId}</AWSAccessKeyId><StringToSign>${secrets.sessionToken}</StringToSign>`
  const { requests, options } = await scriptedS3(respondError(status, code, echoed))
  const failure = await failureOf(createS3Objects(options).get('secret/key'))
  expect(failure.message).toContain(advice)
  expect(requests).toHaveLength(1)
  const everything = `${failure.stack} ${JSON.stringify(failure.details)} ${String(failure.cause)}`
  for (const secret of [...Object.values(secrets), 'secret/key', options.endpoint]) expect(everything).not.toContain(secret)
})

it('returns undefined for a missing object and fails for a missing bucket', async () => {
  const { options } = await scriptedS3(
    respondError(404, 'NoSuchKey'),
    respond(404),
    respondError(404, 'NoSuchKey'),
    respondError(404, 'NoSuchBucket'),
  )
  const objects = createS3Objects(options)
  expect(await objects.get('k')).toBe(undefined)
  expect(await objects.exists('k')).toBe(false)
  await objects.delete('k')
  await expect(objects.get('k')).rejects.toMatchObject({ code: 'hosting.failed' })
})

it('reads all pages of a listing, with encoded and plain keys', async () => {
  const page = (keys: readonly string[], more: string) =>
    respond(
      200,
      `<ListBucketResult>${more}${keys.map((key) => `<Contents><Key>${key}</Key><Size>1</Size></Contents>`).join('')}</ListBucketResult>`,
    )
  const { requests, options } = await scriptedS3(
    respond(404),
    page(
      ['p/t/a+b%26', 'p/t/%E6%97%A5'],
      '<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated><NextContinuationToken>n&amp;2</NextContinuationToken>',
    ),
    page(['p/t/c&amp;&#x41;&#66;%41', 'p/tx', 'elsewhere'], '<IsTruncated>false</IsTruncated>'),
  )
  const keys: string[] = []
  for await (const key of createS3Objects({ ...options, pageSize: 2 }).list('t')) keys.push(key)
  expect(keys).toEqual(['t/a b&', 't/日', 't/c&AB%41'])
  expect(requests).toEqual([
    'HEAD /b/p/t',
    'GET /b?list-type=2&encoding-type=url&prefix=p%2Ft%2F&max-keys=2',
    'GET /b?list-type=2&encoding-type=url&prefix=p%2Ft%2F&continuation-token=n%262&max-keys=2',
  ])
})

it.each([
  ['something else', '<html>welcome</html>'],
  ['half a listing', '<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>'],
])('rejects %s as a listing', async (_, body) => {
  const { options } = await scriptedS3(respond(404), respond(200, body))
  await expect(createS3Objects(options).list('t')[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'hosting.failed' })
})

it('rejects a key that is too long for S3', async () => {
  const { options, requests } = await scriptedS3(respond(200))
  await expect(
    createS3Objects({ ...options, prefix: 'p'.repeat(200) }).put(`${'k'.repeat(250)}/`.repeat(3) + 'k'.repeat(200), bytes('x')),
  ).rejects.toMatchObject({
    code: 'hosting.failed',
  })
  expect(requests).toEqual([])
})

it('does not replace an existing object with `ifMissing`, and repeats a conflict', async () => {
  const conditions: unknown[] = []
  const noting = (status: number) => (request: IncomingMessage, response: ServerResponse) => {
    conditions.push(request.headers['if-none-match'])
    response.writeHead(status).end()
  }
  const { options } = await scriptedS3(noting(409), noting(412))
  await createS3Objects(options).put('k', bytes('x'), { ifMissing: true })
  expect(conditions).toEqual(['*', '*'])
})

it('sends no condition to a server that does not know it', async () => {
  const conditions: unknown[] = []
  const { options } = await scriptedS3((request, response) => {
    conditions.push(request.headers['if-none-match'])
    response.writeHead(request.headers['if-none-match'] ? 501 : 200).end()
  })
  const objects = createS3Objects(options)
  await objects.put('k', bytes('x'), { ifMissing: true })
  await objects.put('l', bytes('x'), { ifMissing: true })
  expect(conditions).toEqual(['*', undefined, undefined])
})

it('stores an object without a condition if the server answers the condition with 400, and then sends no more conditions', async () => {
  const conditions: (string | undefined)[] = []
  const { requests, options } = await scriptedS3((request, response) => {
    conditions.push(request.headers['if-none-match'])
    if (request.headers['if-none-match'] === undefined) respond(200)(request, response)
    else respondError(400, 'InvalidArgument')(request, response)
  })
  const objects = createS3Objects(options)
  await objects.put('k', bytes('x'), { ifMissing: true })
  await objects.put('k', bytes('x'), { ifMissing: true })
  expect(conditions).toEqual(['*', undefined, undefined])
  expect(requests).toHaveLength(3)
})

it('sends a rejected object once more without a condition, and sends conditions again later', async () => {
  const conditions: (string | undefined)[] = []
  const { options } = await scriptedS3((request, response) => {
    conditions.push(request.headers['if-none-match'])
    respondError(400, 'InvalidRequest')(request, response)
  })
  const objects = createS3Objects(options)
  for (const _ of [1, 2]) await expect(objects.put('k', bytes('x'), { ifMissing: true })).rejects.toThrow('400 InvalidRequest')
  expect(conditions).toEqual(['*', undefined, '*', undefined])
})

it('does not wait long for a deletion, and does not repeat it later', async () => {
  const silent = await scriptedS3(() => {})
  const started = performance.now()
  await expect(createS3Objects(silent.options).delete('k')).rejects.toMatchObject({ code: 'hosting.failed' })
  expect(performance.now() - started).toBeLessThan(10_000)
  expect(silent.requests).toEqual(['DELETE /b/p/k'])
  const busy = await scriptedS3(respondError(503, 'SlowDown'), respond(204))
  await createS3Objects(busy.options).delete('k')
  expect(busy.requests).toHaveLength(2)
})

it('does not wait long for the answer whether an object exists, even if the server asks for it', async () => {
  const { requests, options } = await scriptedS3((_request, response) => {
    response.writeHead(503, { 'Retry-After': '20' }).end()
  })
  await expect(createS3Objects(options).exists('k')).rejects.toThrow('S3 answered HEAD with 503')
  expect(requests).toEqual(['HEAD /b/p/k'])
})

it('does not remove an old blob if the server does not say in time when it was put', async () => {
  const { requests, options } = await scriptedS3(() => {})
  const blobs = createObjectBlobs({ objects: createS3Objects(options) })
  await expect(blobs.removeIfPutBefore('a'.repeat(64), Date.now())).rejects.toMatchObject({ code: 'hosting.failed' })
  expect(requests.map((request) => request.split(' ')[0])).toEqual(['HEAD'])
})

it('waits for a listing for as long as the server asks for', async () => {
  const busy = (_request: IncomingMessage, response: ServerResponse) => void response.writeHead(503, { 'Retry-After': '3' }).end()
  const { requests, options } = await scriptedS3(busy, respond(404), respond(200, '<ListBucketResult></ListBucketResult>'))
  const listed: string[] = []
  for await (const key of createS3Objects(options).list('k')) listed.push(key)
  expect(listed).toEqual([])
  expect(requests.map((request) => request.split('?')[0])).toEqual(['HEAD /b/p/k', 'HEAD /b/p/k', 'GET /b'])
})

it('keeps a large stream in a temporary file without a name, and leaves nothing behind', async () => {
  const before = process.env.TMPDIR
  const folder = mkdtempSync(join(tmpdir(), 'daybook-spool-'))
  process.env.TMPDIR = folder
  try {
    const { requests, options } = await scriptedS3(respond(200))
    const blobs = createObjectBlobs({ objects: createS3Objects(options) })
    const source = async function* () {
      for (let n = 0; n < 4; n++) {
        expect(readdirSync(folder)).toEqual([])
        yield new Uint8Array(1_000_000).fill(n)
      }
      throw new Error('the connection was lost')
    }
    await expect(blobs.putStream(source())).rejects.toThrow('the connection was lost')
    expect(requests).toEqual([])
    process.env.TMPDIR = join(folder, 'missing')
    await expect(blobs.putStream(source())).rejects.toMatchObject({ code: 'store.failed' })
    expect(requests).toEqual([])
    expect(readdirSync(folder)).toEqual([])
  } finally {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
    rmSync(folder, { recursive: true })
  }
})

it('signs with the time of the server if the clock of this machine is wrong', async () => {
  const dates: string[] = []
  const now = Date.now() + 3 * 3_600_000
  const checkTime = (request: IncomingMessage, response: ServerResponse) => {
    const date = String(request.headers['x-amz-date'])
    dates.push(date)
    const signed = Date.parse(date.replace(/^(....)(..)(.....)(..)(...)$/, '$1-$2-$3:$4:$5'))
    const isSkewed = Math.abs(signed - now) > 900_000
    response.setHeader('Date', new Date(now).toUTCString())
    // the response to HEAD has no body, and therefore no error code
    if (isSkewed) return respondError(403, request.method === 'HEAD' ? '' : 'RequestTimeTooSkewed')(request, response)
    respond(200, 'x')(request, response)
  }
  const { options } = await scriptedS3(checkTime)
  const objects = createS3Objects(options)
  expect(await objects.exists('k')).toBe(true)
  expect(dates).toHaveLength(2)
  await objects.put('k', bytes('x'))
  expect(dates).toHaveLength(3)
  await createS3Objects(options).put('k', bytes('x'))
  expect(dates).toHaveLength(5) // the response has the code
})

it('says what to do about a wrong region, missing rights and a wrong clock', async () => {
  const redirect = (_: IncomingMessage, response: ServerResponse) =>
    void response.writeHead(301, { 'x-amz-bucket-region': 'eu-central-1', Location: 'http://127.0.0.1:1/' }).end()
  const cases = [
    [redirect, 'region eu-central-1'],
    [respondError(400, 'AuthorizationHeaderMalformed', '<Region>eu-central-1</Region>'), 'region'],
    [respond(400), 'region'],
    [respond(403), 'read, write and list'],
    [respondError(403, 'RequestTimeTooSkewed'), 'clock'],
  ] as const
  for (const [answer, advice] of cases) {
    const { requests, options } = await scriptedS3(answer)
    const objects = createS3Objects(options)
    const messages = [await failureOf(objects.exists('k')), await failureOf(objects.get('k'))].map(({ message }) => message)
    expect(messages.some((message) => message.includes(advice))).toBe(true)
    expect(requests).toHaveLength(2) // none was repeated
  }
})

it('does not take another part of an object for the one that it has asked for', async () => {
  const answer = (range: string, body: string) => (_: IncomingMessage, response: ServerResponse) =>
    void response.writeHead(206, { 'Content-Range': range }).end(body)
  const { options } = await scriptedS3(answer('bytes 0-1/9', 'ab'), answer('bytes 4-5/9', 'ef'))
  expect(await createS3Objects(options).get('k', { start: 4, end: 6 })).toEqual(bytes('ef'))
  const wrong = await scriptedS3(answer('bytes 0-1/9', 'ab'))
  await expect(createS3Objects(wrong.options).get('k', { start: 4, end: 6 })).rejects.toMatchObject({ code: 'hosting.failed' })
})

it('reports a listing whose keys can not be read', async () => {
  const page = (key: string) =>
    `<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>${key}</Key></Contents></ListBucketResult>`
  const { options } = await scriptedS3(respond(404), respond(200, page('p/k/%zz')))
  await expect(createS3Objects(options).deleteTree('k')).rejects.toMatchObject({ code: 'hosting.failed' })
  const other = await scriptedS3(respond(404), respond(200, page('p/k/&#x7fffff;')), respond(204))
  await createS3Objects(other.options).deleteTree('k')
})

describe('an upload in parts', () => {
  const begun = respond(200, '<InitiateMultipartUploadResult><UploadId>u&amp;1</UploadId></InitiateMultipartUploadResult>')
  const part = (_: IncomingMessage, response: ServerResponse) => void response.writeHead(200, { ETag: '"e"' }).end()
  const content = bytes('0123456789')

  it('names its parts at the end', async () => {
    const bodies: string[] = []
    const ended = respond(200, '<CompleteMultipartUploadResult/>')
    const { requests, options } = await scriptedS3(begun, part, part, part, (request, response) => {
      bodies.push(`${request.headers['content-length']}`)
      ended(request, response)
    })
    await createS3Objects({ ...options, partBytes: 4 }).put('k', content)
    expect(requests.toSorted()).toEqual([
      'POST /b/p/k?uploadId=u%261',
      'POST /b/p/k?uploads=',
      'PUT /b/p/k?partNumber=1&uploadId=u%261',
      'PUT /b/p/k?partNumber=2&uploadId=u%261',
      'PUT /b/p/k?partNumber=3&uploadId=u%261',
    ])
    expect(Number(bodies[0])).toBeGreaterThan(150)
  })

  it('of a stream reads a part when it is sent, at most two at the same time, and is removed when a part can not be stored', async () => {
    let [reading, most] = [0, 0]
    const large = {
      size: content.length,
      async read({ start, end }: { readonly start: number; readonly end: number }) {
        most = Math.max(most, ++reading)
        return content.subarray(start, end)
      },
    }
    const counting = (request: IncomingMessage, response: ServerResponse) => {
      reading--
      part(request, response)
    }
    const ended = respond(200, '<CompleteMultipartUploadResult/>')
    const { requests, options } = await scriptedS3(begun, ...Array(5).fill(counting), ended)
    await createS3Objects({ ...options, partBytes: 2 }).putLarge?.('k', large)
    expect(requests.filter((request) => request.startsWith('PUT'))).toHaveLength(5)
    expect(most).toBe(2)
    const refused = await scriptedS3(begun, part, respondError(403, 'AccessDenied'))
    await expect(createS3Objects({ ...refused.options, partBytes: 2 }).putLarge?.('k', large)).rejects.toThrow('AccessDenied')
    expect(refused.requests.at(-1)).toBe('DELETE /b/p/k?uploadId=u%261')
    const small = await scriptedS3(respond(200))
    await createS3Objects(small.options).putLarge?.('k', large, { ifMissing: true })
    expect(small.requests).toEqual(['PUT /b/p/k'])
  })

  it('is removed when a part can not be stored', async () => {
    const { requests, options } = await scriptedS3(begun, respondError(403, 'AccessDenied'))
    await expect(createS3Objects({ ...options, partBytes: 6 }).put('k', content)).rejects.toMatchObject({ code: 'hosting.failed' })
    expect(requests).toContain('DELETE /b/p/k?uploadId=u%261')
  })

  it('is removed only after its other parts were sent, if a part can not be stored', async () => {
    const ended: string[] = []
    const { options } = await scriptedS3((request, response) => {
      const { method, url = '' } = request
      response.on('finish', () => ended.push(`${method} ${url.split('&')[0]}`))
      if (method === 'POST') return begun(request, response)
      if (method === 'DELETE') return respond(204)(request, response)
      if (url.includes('partNumber=1')) return respondError(403, 'AccessDenied')(request, response)
      setTimeout(() => part(request, response), 200)
    })
    await expect(createS3Objects({ ...options, partBytes: 4 }).put('k', content)).rejects.toThrow('AccessDenied')
    expect(ended).toHaveLength(5)
    expect(ended.at(-1)).toBe('DELETE /b/p/k?uploadId=u%261')
  })

  it('is removed if another process has stored the same object meanwhile', async () => {
    const { requests, options } = await scriptedS3(begun, part, part, respondError(412, 'PreconditionFailed'), respond(204))
    await createS3Objects({ ...options, partBytes: 5 }).put('k', content, { ifMissing: true })
    expect(requests.at(-1)).toBe('DELETE /b/p/k?uploadId=u%261')
  })

  it('has failed if the body of the last response is an error', async () => {
    const { requests, options } = await scriptedS3(begun, part, part, respondError(200, 'InternalError'))
    await expect(createS3Objects({ ...options, partBytes: 5 }).put('k', content)).rejects.toThrow('InternalError')
    expect(requests.filter((request) => request.startsWith('POST /b/p/k?uploadId'))).toHaveLength(4)
  })

  it('is complete if the response to its last request was lost', async () => {
    const lost = (request: IncomingMessage) => void request.socket.destroy()
    const { requests, options } = await scriptedS3(begun, part, part, lost, respondError(404, 'NoSuchUpload'), respond(200))
    await createS3Objects({ ...options, partBytes: 5 }).put('k', content)
    expect(requests.at(-1)).toBe('HEAD /b/p/k')
  })

  it('fails if the server has lost it', async () => {
    const { options } = await scriptedS3(begun, part, part, respondError(404, 'NoSuchUpload'), respond(404))
    await expect(createS3Objects({ ...options, partBytes: 5 }).put('k', content)).rejects.toThrow('try again')
  })

  it('of a process that was killed is removed when it is old', async () => {
    const upload = (key: string, id: string, at: string) =>
      `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${at}</Initiated></Upload>`
    const page = (more: string, ...uploads: string[]) =>
      respond(200, `<ListMultipartUploadsResult><EncodingType>url</EncodingType>${more}${uploads.join('')}</ListMultipartUploadsResult>`)
    const [old, young] = ['2026-01-01T00:00:00.000Z', '2026-01-03T00:00:00.000Z']
    const more = '<IsTruncated>true</IsTruncated><NextKeyMarker>p%2Fk%2Fb+c</NextKeyMarker><NextUploadIdMarker>u2</NextUploadIdMarker>'
    const { requests, options } = await scriptedS3(
      page(more, upload('p%2Fk%2Fa', 'u1', old), upload('p%2Fk%2Fb+c', 'u2', young)),
      page('', upload('p%2Fk%2Fb+c', 'u3', old), upload('p%2Fother', 'u4', old), upload('p%2Fk%2Fd', 'u5', 'no time')),
      respond(204),
    )
    await createS3Objects(options).removeUnfinished?.('k', Date.parse('2026-01-02T00:00:00.000Z'))
    expect(requests).toEqual([
      'GET /b?uploads=&prefix=p%2Fk%2F&encoding-type=url',
      'GET /b?uploads=&prefix=p%2Fk%2F&encoding-type=url&key-marker=p%2Fk%2Fb%20c&upload-id-marker=u2',
      'DELETE /b/p/k/a?uploadId=u1',
      'DELETE /b/p/k/b%20c?uploadId=u3',
    ])
  })
})
