import fc from 'fast-check'
import { expect, it } from 'vitest'
import { journals } from '../../../../../test/support/generators/changes.ts'
import { infoAfter } from '../../shared/conversation-info.ts'
import { type ConversationRow, infoOf, withInfo } from '../../shared/conversation-row.ts'
import { entriesStatement, type JournalRow } from './entries-statement.ts'
import { progressStatementFast } from './fast-progress.ts'

const empty: ConversationRow = {
  ...{
    key: 7,
    id: 'c1',
    title: null,
    started_at: null,
    last_activity_at: '',
    active_at: null,
    open_turn: null,
    waiting: null,
    offers: null,
  },
  ...{ waits: null, due_at: null, last_seq: 0, indexed_seq: 0, next_block: 1, epoch: 3, owner_id: 'a', owner_host: 'h', owner_pid: 1 },
  ...{ owner_started_at: null, owner_boot_id: null, owner_pid_ns: null, owner_epoch: 3, lease_expires_at: null, attempts: 0 },
  ...{ attempt_seq: null, retry_at: null, parked_at: null, failure: null, offered_at: null, deleted_at: null },
}

it('makes the same statement as `entriesStatement`', () => {
  let [fast, general] = [0, 0]
  const appends = fc.array(fc.record({ changes: journals({ maxLength: 4 }), hasBlobs: fc.constantFrom(true, ...Array(9).fill(false)) }))
  fc.assert(
    fc.property(appends, fc.constantFrom('0', '0', '0', '', '~'), (list, lastActivity) => {
      let row = empty
      for (const { changes, hasBlobs } of list) {
        // set here, because random journals rarely continue a turn
        row = { ...row, open_turn: 't1', last_activity_at: lastActivity, waits: null }
        const blobs = hasBlobs ? ['00'] : []
        const rows = changes.map((change, at): JournalRow => ({ seq: row.last_seq + 1 + at, change, body: JSON.stringify(change), blobs }))
        const next = { ...withInfo(row, infoAfter(infoOf(row), changes)), next_block: row.next_block + 2 }
        const expected = entriesStatement(row, next, rows)
        const made = progressStatementFast(row, next, rows)
        if (made) fast++
        else general++
        expect(made ?? expected).toEqual(expected)
        row = expected.stored
      }
    }),
    { numRuns: 500 },
  )
  expect(Math.min(fast, general)).toBeGreaterThan(50)
})
