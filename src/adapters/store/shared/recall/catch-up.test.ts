import { describe, expect, it } from 'vitest'
import { Failure } from '../../../../core/failure.ts'
import { completion } from '../../../../testing/blocks.ts'
import { appended, closed } from '../../../../testing/conformance/store/fixture.ts'
import { createCatchUp, type IndexStep, type Position } from './catch-up.ts'

const lost = () => new Failure('store.failed', 'the connection was lost', { details: { connectionLost: true } })
const ids = ['c1', 'c2', 'c3', 'c4', 'c5']

type Fails = 'read' | 'write' | 'nothing'

/** A catch-up of conversations with one entry each. `onAttempt` is called for each attempt to read or write a conversation. */
function createFixture(failing: Fails, failed: () => Error, onAttempt = async (_id: string) => {}) {
  const attempts: string[] = []
  const indexed = new Set<string>()
  const attempt = async (id: string, kind: Fails) => {
    attempts.push(id)
    await onAttempt(id)
    if (kind === failing) throw failed()
  }
  const index = createCatchUp<Position>({
    findBehind: () => [ids],
    async positionOf(id) {
      if (failing !== 'write') await attempt(id, 'read')
      return { key: 1, indexed: indexed.has(id) ? 1 : 0, last: 1 }
    },
    async *journal() {
      yield { seq: 1, change: appended([completion('a river')]) }
    },
    async write(steps: readonly IndexStep<Position>[]) {
      for (const { id } of steps) {
        if (failing === 'write') await attempt(id, 'write')
        indexed.add(id)
      }
    },
  })
  return { index, attempts }
}

describe('catching up with the journals', () => {
  it.each([
    ['read', 2],
    ['write', 3],
  ] as const)('ends soon when the database can not be reached: %s', async (failing, count) => {
    const { index, attempts } = createFixture(failing, lost)
    await expect(index.catchUp()).rejects.toThrow('the connection was lost')
    expect(attempts).toHaveLength(count)
  })

  it('goes on with the other conversations after another error', async () => {
    const { index, attempts } = createFixture('read', () => new Failure('store.damaged', 'an entry is damaged'))
    await expect(index.catchUp()).rejects.toThrow('an entry is damaged')
    expect(attempts).toEqual(ids)
  })

  it('in the background ends with the conversation that is being read when the store is closed', async () => {
    const reading = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    const { index, attempts } = createFixture(
      'read',
      () => new Error('the server is away'),
      async () => {
        reading.resolve()
        await goOn.promise
      },
    )
    for (const id of ids) index.noteAppended(id, [closed('t1')])
    await reading.promise
    const closing = index.close()
    goOn.resolve()
    await closing
    expect(attempts).toEqual(['c1'])
  })
})
