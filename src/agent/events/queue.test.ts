import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test, vi } from 'vitest'
import { createQueue } from './queue.ts'

const end = { done: true, value: undefined }
const item = (value: number) => ({ done: false, value })

describe('a queue', () => {
  test('yields items that were pushed before and during iteration, in order, and then ends', async () => {
    const queue = createQueue<number>()
    const read: number[] = []
    queue.push(1)
    queue.push(2)
    const reading = (async () => {
      for await (const each of queue) read.push(each)
    })()
    queue.push(3)
    await Promise.resolve()
    queue.push(4)
    queue.close()
    await reading
    expect(read).toEqual([1, 2, 3, 4])
  })

  test('does not keep items that were read, even if the queue is never empty', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const queue = createQueue<object>()
    const reader = queue[Symbol.asyncIterator]()
    queue.push({})
    const read: WeakRef<object>[] = []
    for (let n = 0; n < 100; n++) {
      queue.push({ n })
      const { value } = await reader.next()
      if (value) read.push(new WeakRef(value))
    }
    await new Promise(setImmediate)
    collect()
    expect(read.filter((each) => each.deref() !== undefined).length).toBeLessThan(5)
    queue.push({})
  })

  test('resolves concurrent reads in the order in which they were made', async () => {
    const queue = createQueue<number>()
    const reader = queue[Symbol.asyncIterator]()
    const asked = [reader.next(), reader.next()]
    queue.push(1)
    asked.push(reader.next(), reader.next(), reader.next())
    queue.push(2)
    queue.push(3)
    queue.close()
    expect(await Promise.all(asked)).toEqual([item(1), item(2), item(3), end, end])
  })

  test('throws the error once, after everything is read', async () => {
    const queue = createQueue<number>()
    queue.push(1)
    queue.close(new Error('gone'))
    const reader = queue[Symbol.asyncIterator]()
    expect(await reader.next()).toEqual(item(1))
    await expect(reader.next()).rejects.toThrow('gone')
    expect(await reader.next()).toEqual(end)
  })

  test('rejects a waiting read with the error', async () => {
    const queue = createQueue<number>()
    const asked = queue[Symbol.asyncIterator]().next()
    queue.close(new Error('gone'))
    await expect(asked).rejects.toThrow('gone')
  })

  test('reports that its reader stopped, and ends a waiting read', async () => {
    const onAbandoned = vi.fn()
    const queue = createQueue<number>(onAbandoned)
    const reader = queue[Symbol.asyncIterator]()
    const asked = reader.next()
    await reader.return?.()
    expect(await asked).toEqual(end)
    expect(await reader.next()).toEqual(end)
    expect(onAbandoned).toHaveBeenCalledOnce()
  })

  test('continues with the next reader where the last one stopped', async () => {
    const queue = createQueue<number>()
    for (const each of [1, 2, 3]) queue.push(each)
    for await (const each of queue) if (each === 1) break
    queue.close()
    const rest: number[] = []
    for await (const each of queue) rest.push(each)
    expect(rest).toEqual([2, 3])
  })
})
