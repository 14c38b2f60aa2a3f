import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type ServerSentEvent, serverSentEvents } from './server-sent-events.ts'

async function* cut(text: string, cuts: readonly number[]) {
  const bytes = new TextEncoder().encode(text)
  const at = [0, ...cuts.map((cutAt) => cutAt % (bytes.length + 1)), bytes.length].sort((a, b) => a - b)
  for (let index = 1; index < at.length; index++) yield bytes.slice(at[index - 1], at[index])
}

async function read(text: string, cuts: readonly number[] = []): Promise<readonly ServerSentEvent[]> {
  const events: ServerSentEvent[] = []
  for await (const event of serverSentEvents(cut(text, cuts))) events.push(event)
  return events
}

const stream =
  ': hello\n\nid: 7\nevent: entry\ndata: {"a":"é😀"}\n\r\ndata: one\rdata:two\r\n\r\nevent: only\n\nid: 8\ndata: last\n\ndata: cut off'

it('reads events with their names and ids, and skips incomplete ones', async () => {
  expect(await read(stream)).toEqual([
    { event: 'entry', data: '{"a":"é😀"}', id: '7' },
    { event: 'message', data: 'one\ntwo', id: '7' },
    { event: 'message', data: 'last', id: '8' },
  ])
})

it('reads the same events wherever the network splits the stream', async () => {
  const whole = await read(stream)
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(), { maxLength: 30 }), async (cuts) => {
      expect(await read(stream, cuts)).toEqual(whole)
    }),
    { numRuns: 500 },
  )
})
