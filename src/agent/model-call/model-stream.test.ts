import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { ModelEvent } from '../../core/model-event.ts'
import { openModelStream } from './model-stream.ts'

const text = (value: string): ModelEvent => ({ type: 'text.delta', text: value })
const never = new Promise<never>(() => {})

async function read(stream: AsyncIterable<ModelEvent>): Promise<readonly string[]> {
  const texts: string[] = []
  for await (const event of stream) if (event.type === 'text.delta') texts.push(event.text)
  return texts
}

describe('the stream of a model', () => {
  it('ends with the model', async () => {
    const stream = openModelStream(async function* () {
      yield text('a')
      yield text('b')
    })
    expect(await read(stream)).toEqual(['a', 'b'])
    expect([stream.failure, stream.abandoned]).toEqual([undefined, false])
  })

  it('ends with the error of an adapter that throws: when it is called, instead of an event, or after one', async () => {
    const thrown = new Error('broken')
    const fail = (): never => {
      throw thrown
    }
    const called = openModelStream(fail)
    const first = openModelStream(() => ({ [Symbol.asyncIterator]: () => ({ next: fail }) }))
    const later = openModelStream(async function* () {
      yield text('a')
      fail()
    })
    expect(await Promise.all([called, first, later].map(read))).toEqual([[], [], ['a']])
    expect([called, first, later].map(({ failure }) => failure)).toEqual([{ thrown }, { thrown }, { thrown }])
  })

  it('ends with an error when the adapter returns something else than an event', async () => {
    const stream = openModelStream(() => ({ [Symbol.asyncIterator]: () => ({ next: async () => undefined as never }) }))
    expect(await read(stream)).toEqual([])
    expect(stream.failure).toMatchObject({ thrown: { name: 'TypeError' } })
  })

  it('stops a model whose reader has stopped, and waits for it', async () => {
    let stopped = false
    const stream = openModelStream(async function* () {
      try {
        yield text('a')
        yield text('b')
      } finally {
        await sleep(5)
        stopped = true
      }
    })
    for await (const _event of stream) break
    expect(stopped).toBe(true)
  })

  it('is abandoned when the model does not go on or does not stop, and ignores what comes later', async () => {
    const hanging = openModelStream(async function* () {
      yield text('a')
      await never
    })
    hanging.abandonAfter(5)
    expect(await read(hanging)).toEqual(['a'])
    const unstoppable = openModelStream(async function* () {
      try {
        yield text('a')
      } finally {
        await never
      }
    })
    for await (const _event of unstoppable) {
      unstoppable.abandonAfter(5)
      break
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    const late = openModelStream(async function* () {
      await promise
      yield text('late')
    })
    late.abandonAfter(0)
    expect(await read(late)).toEqual([])
    resolve()
    await sleep(1)
    expect(await read(late)).toEqual([])
    expect([hanging, unstoppable, late].map(({ abandoned, failure }) => [abandoned, failure])).toEqual(Array(3).fill([true, undefined]))
  })

  it('is not abandoned after its end', async () => {
    const stream = openModelStream(async function* () {
      yield text('a')
    })
    stream.abandonAfter(1)
    expect(await read(stream)).toEqual(['a'])
    stream.abandonAfter(0)
    await sleep(5)
    expect(stream.abandoned).toBe(false)
  })
})
