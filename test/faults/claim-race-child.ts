/**
 * A process that claims conversations from the work list of a folder. claim-race.test.ts starts several of them.
 *
 *   node claim-race-child.ts <folder> <time> <limits as JSON>
 *
 * It sends `ready` to its parent when its store is open. After a message from its parent it claims until there is nothing to claim, and
 * sends its claims. It stays alive until its parent disconnects, because the leases of a dead process are free.
 */
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createOwner } from '../../src/agent/conversation/claim.ts'
import type { WorkLimits } from '../../src/ports/store/work-list.ts'
import { openFolderStore } from '../support/stores.ts'

const [folder = '', time = '', limits = '{}'] = process.argv.slice(2)
const clock = { ...createSystemClock(), now: () => time } // no lease ends during the test
const store = await openFolderStore(folder, { clock })
const owner = createOwner(clock)

process.once('message', async () => {
  const claims: { readonly conversationId: string; readonly epoch: number }[] = []
  for (;;) {
    const { claim } = await store.work.claimNext(owner, JSON.parse(limits) as WorkLimits)
    if (!claim) break
    claims.push({ conversationId: claim.conversationId, epoch: claim.epoch })
  }
  process.send?.(claims)
})
process.once('disconnect', () => process.exit(0))
process.send?.('ready')
