import { expect, it } from 'vitest'
import { rememberPuts } from './recent-puts.ts'

const blobs = {
  put: async (bytes: Uint8Array) => ({ sha256: `hash of ${bytes[0]}` }),
  async putStream(pieces: AsyncIterable<Uint8Array>) {
    let first: number | undefined
    for await (const piece of pieces) {
      first ??= piece[0]
      piece.fill(0) // a caller may use the memory of a piece again
    }
    return { sha256: `hash of ${first}` }
  },
}
async function* pieces(...all: readonly (readonly number[])[]) {
  for (const piece of all) yield Uint8Array.from(piece)
}
const remembered = ({ recentlyPut }: ReturnType<typeof rememberPuts>, numbers: readonly number[]) =>
  numbers.filter((number) => recentlyPut(`hash of ${number}`) !== undefined)

it('remembers the blobs that were put last, up to a number of bytes', async () => {
  const recent = rememberPuts(blobs, 30)
  for (const number of [1, 2, 3]) await recent.put(new Uint8Array(10).fill(number))
  expect(remembered(recent, [1, 2, 3])).toEqual([1, 2, 3])
  await recent.put(new Uint8Array(10).fill(1)) // now the oldest put is that of 2
  await recent.put(new Uint8Array(10).fill(4))
  expect(remembered(recent, [1, 2, 3, 4])).toEqual([1, 3, 4])
  expect(recent.recentlyPut('hash of 4')).toEqual(new Uint8Array(10).fill(4))
})

it('does not remember a blob that is larger than the limit, and counts the whole buffer of a part', async () => {
  const recent = rememberPuts(blobs, 30)
  await recent.put(new Uint8Array(10).fill(1))
  await recent.put(new Uint8Array(31).fill(2))
  await recent.put(new Uint8Array(31).fill(3).subarray(0, 1))
  expect(remembered(recent, [1, 2, 3])).toEqual([1])
})

it('does not remember a blob that could not be put', async () => {
  const recent = rememberPuts({
    ...blobs,
    put: (_: Uint8Array): Promise<{ sha256: string }> => Promise.reject(new Error('the disk is full')),
  })
  await expect(recent.put(new Uint8Array(1))).rejects.toThrow('the disk is full')
  expect(recent.recentlyPut('hash of 0')).toBe(undefined)
})

it('remembers a small stream, and not a large one or one that could not be put', async () => {
  const recent = rememberPuts(blobs)
  await recent.putStream(pieces([1, 2], [], [3]))
  await recent.putStream(pieces([2], ...Array.from({ length: 129 }, () => new Array(64 * 1024).fill(7))))
  expect(recent.recentlyPut('hash of 1')).toEqual(Uint8Array.from([1, 2, 3]))
  expect(recent.recentlyPut('hash of 2')).toBe(undefined)
  async function* broken() {
    yield Uint8Array.from([3])
    throw new Error('the connection was lost')
  }
  await expect(recent.putStream(broken())).rejects.toThrow('the connection was lost')
  expect(recent.recentlyPut('hash of 3')).toBe(undefined)
})
