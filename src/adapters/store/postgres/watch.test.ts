import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Database } from './database.ts'
import { createWatch } from './watch.ts'

interface Row {
  readonly key: number
  readonly last_seq: number
}

/** A look-up that was sent to the server. Undefined rows: the server has not read the table yet. */
interface LookUp {
  rows?: readonly (Row & { readonly id: string })[]
  answer(): void
}

/**
 * Watches the conversation `c1` in a database of which the test decides when the server reads the table for a look-up, when the answer
 * arrives, and when notifications arrive.
 */
async function watchSlowly(first: Row | undefined) {
  let row = first
  let lastKey = first?.key ?? 0
  let receive: (payload: string) => void = () => {}
  const notices: object[] = []
  const lookUps: LookUp[] = []
  const told: (number | undefined)[] = []
  const database = {
    canListen: true,
    all: () =>
      new Promise<LookUp['rows']>((resolve) => {
        const lookUp: LookUp = {
          answer: () => {
            lookUps.splice(lookUps.indexOf(lookUp), 1)
            read(lookUp)
            resolve(lookUp.rows)
          },
        }
        lookUps.push(lookUp)
      }),
    listen: async (onNotice: typeof receive) => {
      receive = onNotice
      return { notify: async () => {}, close: async () => {} }
    },
    notify: async (payload: string) => receive(payload),
  }
  const read = (lookUp: LookUp | undefined) => {
    if (lookUp) lookUp.rows ??= row ? [{ id: 'c1', ...row }] : []
  }
  const settle = () => vi.advanceTimersByTimeAsync(0)
  const watch = createWatch(database as unknown as Database)
  watch.watch('c1', { onWritten: (lastSeq) => void told.push(lastSeq), onError: (error) => expect.unreachable(String(error)) })
  const table = {
    told,
    lookUps,
    notices,
    get row() {
      return row
    },
    append() {
      if (!row) return
      row = { ...row, last_seq: row.last_seq + 1 }
      notices.push({ lastSeq: row.last_seq })
    },
    delete() {
      if (!row) return
      row = undefined
      notices.push({ deleted: true })
    },
    create() {
      if (row) return
      row = { key: ++lastKey, last_seq: 1 }
      notices.push({ lastSeq: 1 })
    },
    /** The oldest notification arrives. */
    async deliver() {
      const notice = notices.shift()
      if (notice) receive(JSON.stringify({ c1: notice }))
      await settle()
    },
    read: (index: number) => read(lookUps[index]),
    async answer(index: number) {
      lookUps[index]?.answer()
      await settle()
    },
    /** Waits until the watched conversations are looked up again. */
    sweep: () => vi.advanceTimersByTimeAsync(5_000),
    async settleAll() {
      while (notices.length > 0) await table.deliver()
      while (lookUps.length > 0) await table.answer(0)
    },
    close: watch.close,
  }
  await settle()
  await table.settleAll()
  return table
}

describe('an answer that arrives late', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => void vi.useRealTimers())

  it('does not report a conversation as deleted if a notification of a newer entry has overtaken it', async () => {
    const table = await watchSlowly({ key: 1, last_seq: 3 })
    await table.sweep()
    table.read(0)
    table.append()
    await table.deliver()
    await table.answer(0)
    expect(table.told).toEqual([3, 4])
    await table.close()
  })

  it('does not report a conversation as deleted that was created after the look-up', async () => {
    const table = await watchSlowly(undefined)
    await table.sweep()
    table.read(0)
    table.create()
    await table.deliver()
    await table.answer(1)
    await table.answer(0)
    expect(table.told).toEqual([1])
    await table.close()
  })

  it('does not bring back a conversation that was deleted after the look-up', async () => {
    const table = await watchSlowly({ key: 1, last_seq: 3 })
    await table.sweep()
    table.read(0)
    table.delete()
    await table.deliver()
    await table.settleAll()
    expect(table.told).toEqual([3, undefined])
    await table.close()
  })

  it('finds a conversation that was deleted and created again, although the notification of the deletion was lost', async () => {
    const table = await watchSlowly({ key: 1, last_seq: 3 })
    table.delete()
    table.create()
    table.notices.length = 0
    await table.sweep()
    await table.settleAll()
    expect(table.told).toEqual([3, undefined, 1])
    await table.close()
  })

  it('does not report a conversation as deleted because of a notification that names an entry that does not exist', async () => {
    const table = await watchSlowly({ key: 1, last_seq: 3 })
    table.notices.push({ lastSeq: 9 })
    await table.deliver()
    await table.sweep()
    await table.settleAll()
    table.append()
    await table.settleAll()
    expect(table.told).toEqual([3, 9, 3, 4])
    await table.close()
  })

  it('whatever the order of answers and notifications, only deletions are reported as deletions, and the last state is found', async () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ type: fc.constantFrom('append', 'deliver', 'sweep', 'lose') }) },
      { weight: 3, arbitrary: fc.record({ type: fc.constantFrom('read', 'answer'), index: fc.nat(2) }) },
      { weight: 1, arbitrary: fc.record({ type: fc.constantFrom('delete', 'create') }) },
    )
    let overtaken = 0
    await fc.assert(
      fc.asyncProperty(fc.option(fc.nat(3)), fc.array(step, { minLength: 5, maxLength: 40, size: 'max' }), async (lastSeq, steps) => {
        const first = lastSeq === null ? undefined : { key: 1, last_seq: lastSeq }
        const table = await watchSlowly(first)
        let deletions = 0
        for (const { type, ...rest } of steps) {
          const index = ((rest as { index?: number }).index ?? 0) % Math.max(1, table.lookUps.length)
          if (type === 'delete' && table.row) deletions++
          if (type === 'lose') table.notices.shift()
          else if (type === 'read') table.read(index)
          else if (type === 'answer') {
            const rows = table.lookUps[index]?.rows
            if (rows && rows[0]?.last_seq !== table.row?.last_seq) overtaken++
            await table.answer(index)
          } else await table[type as 'append']()
          if (deletions === 0) expect(table.told).not.toContain(undefined)
        }
        await table.settleAll()
        await table.sweep()
        await table.settleAll()
        expect(table.told.at(-1)).toBe(table.row?.last_seq)
        if (first && table.row?.key !== first.key) expect(table.told).toContain(undefined)
        expect(table.told.filter((each, index) => index > 0 && each === table.told[index - 1])).toEqual([])
        await table.close()
      }),
      { numRuns: 1_000 },
    )
    expect(overtaken).toBeGreaterThan(100)
  })
})
