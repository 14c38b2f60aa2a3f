import type { AddressInfo } from 'node:net'
import { isObject, parseJson } from '../../core/json.ts'

/** A running fake of the route `/embeddings` that OpenAI and many other providers have. */
export interface FakeEmbeddings {
  /** The address that follows the `@` in a model name such as `compatible/model@<address>`. */
  readonly address: string
  /** The texts of each request. */
  readonly requests: readonly (readonly string[])[]
  /** The length of the vectors. A test may change it to simulate that the provider has changed its model. */
  dimensions: number
  /** While this is set, every request is answered with this status. */
  failing: number | undefined
  close(): Promise<void>
}

/**
 * Starts a local HTTP server that makes vectors. The words of a group, such as `['boat', 'ship']`, get the same direction. So texts with
 * words of one group are similar.
 */
export async function startFakeEmbeddings(groups: readonly (readonly string[])[] = [], dimensions = 64): Promise<FakeEmbeddings> {
  const requests: (readonly string[])[] = []
  const vectorOf = (text: string): readonly number[] => {
    const vector = Array.from({ length: fake.dimensions }, () => 0)
    for (const word of text.toLowerCase().split(/[^a-z]+/)) {
      const group = groups.find((words) => words.includes(word))?.[0] ?? word
      if (group !== '') vector[hashOf(group) % fake.dimensions] = (vector[hashOf(group) % fake.dimensions] ?? 0) + 1
    }
    return vector.some((value) => value > 0) ? vector : vector.fill(1)
  }
  const { createServer } = process.getBuiltinModule('node:http') // loaded on demand, because few tests need it and it takes 10 ms
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = parseJson(Buffer.concat(chunks).toString())
      const input = isObject(body) ? body.input : undefined
      const isKnown = request.method === 'POST' && request.url?.endsWith('/embeddings')
      if (fake.failing !== undefined || !isKnown || !Array.isArray(input)) {
        response.writeHead(fake.failing ?? 404, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ error: { message: 'no vectors here', type: 'server_error' } }))
        return
      }
      requests.push(input.map(String))
      const data = input.map((text, index) => ({ object: 'embedding', index, embedding: vectorOf(String(text)) }))
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ object: 'list', data, model: 'fake', usage: { prompt_tokens: 1, total_tokens: 1 } }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const fake: FakeEmbeddings = {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    dimensions,
    failing: undefined,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
  return fake
}

function hashOf(text: string): number {
  let hash = 7
  for (let at = 0; at < text.length; at++) hash = (Math.imul(hash, 31) + text.charCodeAt(at)) >>> 0
  return hash
}
