import { describeBundles } from './store-bundles.ts'
import type { CreateStore } from './store-fixture.ts'
import { describeHistory } from './store-history.ts'
import { describeJournal } from './store-journal.ts'
import { describeLeases } from './store-leases.ts'
import { describeList } from './store-list.ts'
import { describeRetention } from './store-retention.ts'
import type { TestRunner } from './test-runner.ts'

/** What every store promises. `create` gives an empty one each time, with the clock and the blob store that it was made with. */
export function describeStore(runner: TestRunner, name: string, create: CreateStore): void {
  runner.describe(name, () => {
    describeLeases(runner, create)
    describeJournal(runner, create)
    describeHistory(runner, create)
    describeList(runner, create)
    describeBundles(runner, create)
    describeRetention(runner, create)
  })
}
