import fc from 'fast-check'
import { expect, it } from 'vitest'
import { forAwait } from './fast-for-await.ts'

type NextBehaviour = 'promise' | 'value' | 'undefined' | 'number' | 'rejects' | 'throws'
type ReturnBehaviour = 'absent' | 'resolves' | 'rejects' | 'throws'

interface Behaviour {
  readonly opens: boolean
  /** False: a synchronous iterable. */
  readonly isAsync: boolean
  /** How `next` gives each value; after the last one the iterator is done. */
  readonly values: readonly NextBehaviour[]
  readonly onReturn: ReturnBehaviour
  /** What the callback does with each value. */
  readonly callback: readonly ('continue' | 'break' | 'throws')[]
}

/** An iterator that logs every call. */
function createStream({ opens, isAsync, values, onReturn, callback }: Behaviour) {
  const log: string[] = []
  let at = 0
  const next = () => {
    log.push('next')
    const behaviour = values[at] ?? 'promise'
    const result = at < values.length ? { done: false, value: at++ } : { done: true, value: undefined }
    if (behaviour === 'throws') throw new Error('next threw')
    if (behaviour === 'undefined') return undefined
    if (behaviour === 'number') return 7
    if (!isAsync) return result
    if (behaviour === 'rejects') return Promise.reject(new Error('next was rejected'))
    return behaviour === 'value' ? result : Promise.resolve(result)
  }
  const close = () => {
    log.push('return')
    if (onReturn === 'throws') throw new Error('return threw')
    if (!isAsync) return { done: true, value: undefined }
    return onReturn === 'rejects' ? Promise.reject(new Error('return was rejected')) : Promise.resolve({ done: true, value: undefined })
  }
  const iterator = onReturn === 'absent' ? { next } : { next, return: close }
  const open = (): AsyncIterable<number> => {
    if (!opens) throw new Error('did not open')
    if (isAsync) return { [Symbol.asyncIterator]: () => iterator as AsyncIterator<number> }
    return { [Symbol.iterator]: () => iterator } as unknown as AsyncIterable<number>
  }
  const onValue = (value: number) => {
    log.push(`value ${value}`)
    if (callback[value] === 'throws') throw new Error('the callback threw')
    return callback[value] !== 'break'
  }
  return { log, open, onValue }
}

/** The texts of the language's own errors differ from ours. */
const errorText = (thrown: unknown) => `failed: ${thrown instanceof TypeError ? 'TypeError' : thrown}`

async function logOf(
  behaviour: Behaviour,
  read: (open: () => AsyncIterable<number>, onValue: (value: number) => boolean) => Promise<void>,
) {
  const { log, open, onValue } = createStream(behaviour)
  try {
    await read(open, onValue)
    log.push('end')
  } catch (thrown) {
    log.push(errorText(thrown))
  }
  return log
}

async function readByStatement(open: () => AsyncIterable<number>, onValue: (value: number) => boolean): Promise<void> {
  for await (const value of open()) if (!onValue(value)) break
}

const nextBehaviour = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<NextBehaviour>('promise', 'value') },
  fc.constantFrom<NextBehaviour>('undefined', 'number', 'rejects', 'throws'),
)
const behaviour: fc.Arbitrary<Behaviour> = fc.record({
  opens: fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, fc.constant(false)),
  isAsync: fc.boolean(),
  values: fc.array(nextBehaviour, { maxLength: 5 }),
  onReturn: fc.constantFrom<ReturnBehaviour>('absent', 'resolves', 'rejects', 'throws'),
  callback: fc.array(fc.constantFrom('continue', 'continue', 'continue', 'break', 'throws'), { maxLength: 5 }),
})

it('makes the same calls and ends in the same way as the for-await statement, for any iterator', async () => {
  await fc.assert(
    fc.asyncProperty(behaviour, async (each) => {
      expect(await logOf(each, forAwait)).toEqual(await logOf(each, readByStatement))
    }),
    { numRuns: 1000 },
  )
})
