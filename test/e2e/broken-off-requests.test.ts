import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { closeServers, openServer } from '../support/server-fixture.ts'

afterEach(closeServers)

/** Sends the beginning of a request, and then ends the connection. */
async function breakOff(url: string, text: string): Promise<void> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  await new Promise<void>((resolve, reject) => void socket.once('connect', resolve).once('error', reject))
  socket.write(text)
  await new Promise((resolve) => setTimeout(resolve, 30))
  socket.resetAndDestroy()
}

const boundary = 'x'
const requests = {
  'JSON with a length':
    'POST /v1/conversations/c1/turns HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"text": "He',
  'JSON in chunks':
    'POST /v1/conversations/c1/turns HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"tex\r\n',
  'a form with a length': `POST /v1/conversations/c1/turns HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: multipart/form-data; boundary=${boundary}\r\nContent-Length: 100000\r\n\r\n--x\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\nabc`,
  'a form in chunks': `POST /v1/conversations/c1/turns HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: multipart/form-data; boundary=${boundary}\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n--x\r\n`,
  'a bundle':
    'POST /v1/conversations/import HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{',
  'an unknown type': 'POST /v1/conversations HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\nab',
}

describe('a request whose client leaves before its body is complete', () => {
  it.each(Object.entries(requests))('is no error in the log: %s', async (_, text) => {
    const { client, server, lines } = await openServer()
    await client.conversations.create({ id: 'c1', title: 'One' })
    for (let round = 0; round < 3; round++) await breakOff(server.url, text)
    await expect.poll(() => lines.filter((line) => line.includes('"method":"POST"')).length).toBe(4)
    expect(lines.filter((line) => !line.includes('"level":"info"'))).toEqual([])
    expect((await client.conversations.get('c1')).last_seq).toBe(1)
  })
})
