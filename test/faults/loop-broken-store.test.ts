import { describe, expect, it } from 'vitest'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { createAgentFrom } from '../../src/agent/agent.ts'
import type { Agent } from '../../src/agent/agent-interface.ts'
import type { Change } from '../../src/core/timeline/change.ts'
import type { Timeline } from '../../src/core/timeline/timeline.ts'
import { type ConversationStore, LEASE_MS } from '../../src/ports/store.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import {
  ENTRIES,
  longTurnModel,
  longTurnTools,
  noObserver,
  normalizedLines,
  ROUNDS,
  settings,
  type TurnObserver,
  withoutResultsOf,
} from '../../src/testing/torture/long-turn.ts'
import { type FailureSide, failingStore } from '../support/crash/failing-store.ts'

function setUp() {
  const clock = createFixedClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const effects: string[] = []
  const decisions: number[] = []
  const observer: TurnObserver = {
    ...noObserver,
    onDecision: (iteration) => void decisions.push(iteration),
    onEffect: (key, toolId) => void effects.push(`${toolId} ${key}`),
  }
  const agent = (on: ConversationStore = store) =>
    createAgentFrom({ model: longTurnModel(observer), tools: longTurnTools(observer), store: on, clock, settings })
  return { clock, store, effects, decisions, agent }
}

const journalOf = async (store: ConversationStore): Promise<readonly Change[]> => {
  const changes: Change[] = []
  for await (const { change } of store.readJournal('c1', { after: 0 })) changes.push(change)
  return changes
}
const timelineOf = async (store: ConversationStore) => (await store.loadVisible('c1'))?.timeline as Timeline
const runOn = (agent: Agent) => agent.run('c1', 'Go shopping.')

async function uninterrupted() {
  const { store, agent } = setUp()
  let appends = 0
  const append: ConversationStore['append'] = (claim, changes) => {
    appends++
    return store.append(claim, changes)
  }
  await runOn(agent({ ...store, append })).result
  return { reference: normalizedLines(await timelineOf(store)), appends }
}

describe('a turn of thirty rounds on a store that fails', () => {
  it('has two entries for each tool round as long as nothing fails', async () => {
    const { reference, appends } = await uninterrupted()
    expect(appends).toBe(ENTRIES)
    expect(reference.unknown).toEqual([])
    expect(reference.lines.filter((line) => line.includes('"react.tool.call"'))).toHaveLength(ROUNDS - 2)
    expect(reference.lines.filter((line) => line.includes('"ok":false'))).toEqual([])
  })

  it.each(['before', 'after'] as const)(
    'fails with store.failed when the failure comes %s an entry is written, and the next agent completes it, for every entry',
    async (side) => {
      const { reference } = await uninterrupted()
      for (let append = 1; append <= ENTRIES; append++) {
        const { lines, unknown, ...facts } = await failAndResume({ append, side })
        const closed = append === ENTRIES && side === 'after'
        const notOpened = append === 1 && side === 'before'
        const exits = closed || notOpened ? [] : ['complete']
        expect({ append, ...facts }).toEqual({ append, failure: 'store.failed', lost: [], repeatedDecisions: [], repeated: [], exits })
        expect(unknown.length).toBeLessThanOrEqual(1)
        expect(withoutResultsOf(lines, unknown)).toEqual(withoutResultsOf(reference.lines, unknown))
      }
    },
  )

  it('completes even when every process dies after two commits', async () => {
    const { clock, store, effects, agent } = setUp()
    const { reference } = await uninterrupted()
    for (let crashes = 0; ; crashes++) {
      expect(crashes).toBeLessThan(ENTRIES + 5)
      // A process that repeats a call records the attempt first. So two commits are the least with which a turn goes on.
      const dying = agent(failingStore(store, { append: 2, side: 'after' }))
      if ((await timelineOf(store)) === undefined) await runOn(dying).result.catch(() => {})
      else await dying.recover().catch(() => {})
      clock.advance(LEASE_MS + 1)
      if ((await timelineOf(store)).openTurn === undefined) break
    }
    const { lines, unknown } = normalizedLines(await timelineOf(store))
    expect(withoutResultsOf(lines, unknown)).toEqual(withoutResultsOf(reference.lines, unknown))
    expect(effects).toEqual([...new Set(effects)])
  })
})

async function failAndResume(at: { readonly append: number; readonly side: FailureSide }) {
  const { clock, store, effects, decisions, agent } = setUp()
  const failure = await runOn(agent(failingStore(store, at))).result.then(
    () => 'nothing',
    (error: { code?: string }) => error.code,
  )
  const crashed = await journalOf(store)
  const responses = crashed.filter(({ type }) => type === 'response.received').length - (crashed.some(isGate) ? 1 : 0)
  clock.advance(LEASE_MS + 1) // the lease must expire, because a dead process does not release it
  const before = decisions.length
  const next = agent()
  const { results } = await next.recover()
  if (crashed.length === 0) await runOn(next).result // nothing was stored, so the user sends the message again
  const after = await journalOf(store)
  const { lines, unknown } = normalizedLines(await timelineOf(store))
  return {
    failure,
    lost: crashed.filter((change, index) => JSON.stringify(change) !== JSON.stringify(after[index])),
    repeatedDecisions: decisions.slice(before).filter((iteration) => iteration < responses),
    repeated: effects.filter((effect, index) => effect.startsWith('shop.pay') && effects.indexOf(effect) !== index),
    exits: results.map(({ exitReason }) => exitReason),
    lines,
    unknown,
  }
}

const isGate = (change: Change) => change.type === 'response.received' && change.role === 'gate'
