import { createMemoryBlobs } from '../../adapters/blobs/memory.ts'
import { createSystemClock } from '../../adapters/clock/system.ts'
import { createMemoryStore } from '../../adapters/store/memory/store.ts'
import { createAgentFrom } from '../../agent/agent.ts'
import { longTurnModel, longTurnTools, noObserver, normalizedLines, settings } from './long-turn.ts'
import { PAST_LEASE_MS, passTime, type TorturePlace } from './place.ts'
import { startProcess } from './processes.ts'
import { type Violation, violation } from './scenario.ts'

/** How many rounds the turns of the scenarios have. */
export const ROUNDS = 9

/** The blocks of a turn that no fault has disturbed. */
export async function undisturbedLines(rounds = ROUNDS): Promise<readonly string[]> {
  const clock = createSystemClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const agent = createAgentFrom({ model: longTurnModel(noObserver, rounds), tools: longTurnTools(noObserver), store, clock, settings })
  await agent.run('reference', 'Go shopping.').result
  const saved = await store.loadVisible('reference')
  return saved ? normalizedLines(saved.timeline).lines : []
}

/**
 * Resumes all unfinished turns in new processes, until none is left. The leases of a dead process may stay valid until they expire, so time
 * may have to pass. `processes` is the number of processes that resume turns at the same time.
 */
export async function recoverAll(place: TorturePlace, { processes = 1, rounds = ROUNDS } = {}): Promise<readonly Violation[]> {
  const task = { do: 'recover', rounds, stepMs: 0 } as const
  const first = await Promise.all(Array.from({ length: processes }, () => startProcess(place, task)))
  for (const each of first) each.begin()
  const results = await Promise.all(first.map(({ done }) => done))
  await Promise.all(first.map((each) => each.end()))
  const errors = results.flatMap((result) => result.errors ?? []).map((text) => violation('error', `resuming turns: ${text}`))
  if (results.every(({ skipped = [] }) => skipped.length === 0)) return errors
  if (processes === 1) await passTime(place, PAST_LEASE_MS)
  const last = await startProcess(place, task)
  last.begin()
  const { skipped = [], errors: late = [] } = await last.done
  await last.end()
  return [
    ...errors,
    ...late.map((text) => violation('error', `resuming turns: ${text}`)),
    ...skipped.map((id) =>
      violation('stuck', `${id}: no process can continue its turn, although its owner is dead and its lease has expired`),
    ),
  ]
}
