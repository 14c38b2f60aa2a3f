import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { forAwait } from './fast-for-await.ts'

type Manner = 'promise' | 'value' | 'nothing' | 'number' | 'rejects' | 'throws'
type Leaving = 'absent' | 'resolves' | 'rejects' | 'throws'

interface World {
  readonly opens: boolean
  /** Or all of it is at hand, and nothing has to be waited for. */
  readonly waits: boolean
  /** How each value is handed over; then it is done. */
  readonly values: readonly Manner[]
  readonly leaving: Leaving
  /** What is made of each value. */
  readonly taking: readonly ('more' | 'enough' | 'throws')[]
}

/** An iterator that writes down whatever is done with it. */
function worldOf({ opens, waits, values, leaving, taking }: World) {
  const log: string[] = []
  let at = 0
  const next = () => {
    log.push('next')
    const manner = values[at] ?? 'promise'
    const result = at < values.length ? { done: false, value: at++ } : { done: true, value: undefined }
    if (manner === 'throws') throw new Error('next threw')
    if (manner === 'nothing') return undefined
    if (manner === 'number') return 7
    if (!waits) return result
    if (manner === 'rejects') return Promise.reject(new Error('next was rejected'))
    return manner === 'value' ? result : Promise.resolve(result)
  }
  const leave = () => {
    log.push('return')
    if (leaving === 'throws') throw new Error('return threw')
    if (!waits) return { done: true, value: undefined }
    return leaving === 'rejects' ? Promise.reject(new Error('return was rejected')) : Promise.resolve({ done: true, value: undefined })
  }
  const iterator = leaving === 'absent' ? { next } : { next, return: leave }
  const stream = (): AsyncIterable<number> => {
    if (!opens) throw new Error('did not open')
    if (waits) return { [Symbol.asyncIterator]: () => iterator as AsyncIterator<number> }
    return { [Symbol.iterator]: () => iterator } as unknown as AsyncIterable<number>
  }
  const take = (value: number) => {
    log.push(`take ${value}`)
    if (taking[value] === 'throws') throw new Error('take threw')
    return taking[value] !== 'enough'
  }
  return { log, stream, take }
}

/** How the language words its own errors is not ours. */
const saidOf = (thrown: unknown) => `broke: ${thrown instanceof TypeError ? 'TypeError' : thrown}`

async function byStatement(world: World) {
  const { log, stream, take } = worldOf(world)
  try {
    for await (const value of stream()) if (!take(value)) break
    log.push('end')
  } catch (thrown) {
    log.push(saidOf(thrown))
  }
  return log
}

async function byHand(world: World) {
  const { log, stream, take } = worldOf(world)
  await new Promise<void>((resolve) => {
    forAwait(stream, take, (broke) => {
      log.push(broke ? saidOf(broke.thrown) : 'end')
      resolve()
    })
  })
  return log
}

const manner = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<Manner>('promise', 'value') },
  fc.constantFrom<Manner>('nothing', 'number', 'rejects', 'throws'),
)
const world: fc.Arbitrary<World> = fc.record({
  opens: fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, fc.constant(false)),
  waits: fc.boolean(),
  values: fc.array(manner, { maxLength: 5 }),
  leaving: fc.constantFrom<Leaving>('absent', 'resolves', 'rejects', 'throws'),
  taking: fc.array(fc.constantFrom('more', 'more', 'more', 'enough', 'throws'), { maxLength: 5 }),
})

describe('for each of the values that come', () => {
  it('does what the statement does, whatever the iterator does', async () => {
    await fc.assert(
      fc.asyncProperty(world, async (each) => {
        expect(await byHand(each)).toEqual(await byStatement(each))
      }),
      { numRuns: 1000 },
    )
  })
})
