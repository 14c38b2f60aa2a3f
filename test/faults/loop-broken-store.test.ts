import { describe, expect, it } from 'vitest'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { createAgentFrom } from '../../src/agent/agent.ts'
import type { Change } from '../../src/core/timeline/change.ts'
import type { Timeline } from '../../src/core/timeline/timeline.ts'
import { type ConversationStore, LEASE_MS } from '../../src/ports/store.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { type FailureSide, failingStore } from '../support/crash/breaking-store.ts'
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
} from '../support/crash/long-turn.ts'

function setUp() {
  const clock = createFixedClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const effects: string[] = []
  const asked: number[] = []
  const outside: TurnObserver = {
    ...noObserver,
    onDecision: (iteration) => void asked.push(iteration),
    onEffect: (key, toolId) => void effects.push(`${toolId} ${key}`),
  }
  const agent = (on: ConversationStore = store) =>
    createAgentFrom({ model: longTurnModel(outside), tools: longTurnTools(outside), store: on, clock, settings })
  return { clock, store, effects, asked, agent }
}

const journalOf = async (store: ConversationStore): Promise<readonly Change[]> => {
  const changes: Change[] = []
  for await (const { change } of store.readJournal('c1', { after: 0 })) changes.push(change)
  return changes
}
const timelineOf = async (store: ConversationStore) => (await store.loadVisible('c1'))?.timeline as Timeline
const run = { conversation: 'c1', input: 'Go shopping.' }

async function uninterrupted() {
  const { store, agent } = setUp()
  let appends = 0
  const append: ConversationStore['append'] = (claim, changes) => {
    appends++
    return store.append(claim, changes)
  }
  await agent({ ...store, append }).run(run).result
  return { story: normalizedLines(await timelineOf(store)), appends }
}

describe('a journal that cannot be written', () => {
  it('knows the turn it breaks: thirty rounds, two entries for each that calls a tool', async () => {
    const { story, appends } = await uninterrupted()
    expect(appends).toBe(ENTRIES)
    expect(story.unknown).toEqual([])
    expect(story.lines.filter((line) => line.includes('"react.tool.call"'))).toHaveLength(ROUNDS - 2)
    expect(story.lines.filter((line) => line.includes('"ok":false'))).toEqual([])
  })

  it.each(['before', 'behind'] as const)(
    'ends the turn loudly, and the next agent goes on as if nothing had happened: every entry, %s it is written',
    async (side) => {
      const { story } = await uninterrupted()
      for (let append = 1; append <= ENTRIES; append++) {
        const { lines, unknown, ...facts } = await broken({ append, side })
        const over = append === ENTRIES && side === 'behind'
        const never = append === 1 && side === 'before'
        const exits = over || never ? [] : ['complete']
        expect({ append, ...facts }).toEqual({ append, failure: 'store.failed', lost: [], askedAgain: [], repeated: [], exits })
        expect(unknown.length).toBeLessThanOrEqual(1)
        expect(withoutResultsOf(lines, unknown)).toEqual(withoutResultsOf(story.lines, unknown))
      }
    },
  )

  it('lets a turn come to its end even when every process dies after its first entry', async () => {
    const { clock, store, effects, agent } = setUp()
    const { story } = await uninterrupted()
    for (let deaths = 0; ; deaths++) {
      expect(deaths).toBeLessThan(ENTRIES + 5)
      const dying = agent(failingStore(store, { append: 1, side: 'behind' }))
      if ((await timelineOf(store)) === undefined) await dying.run(run).result.catch(() => {})
      else await dying.recover().catch(() => {})
      clock.advance(LEASE_MS + 1)
      if ((await timelineOf(store)).openTurn === undefined) break
    }
    const { lines, unknown } = normalizedLines(await timelineOf(store))
    expect(withoutResultsOf(lines, unknown)).toEqual(withoutResultsOf(story.lines, unknown))
    expect(effects).toEqual([...new Set(effects)])
  })
})

async function broken(at: { readonly append: number; readonly side: FailureSide }) {
  const { clock, store, effects, asked, agent } = setUp()
  const failure = await agent(failingStore(store, at))
    .run(run)
    .result.then(
      () => 'nothing',
      (error: { code?: string }) => error.code,
    )
  const left = await journalOf(store)
  const heard = left.filter(({ type }) => type === 'response.received').length - (left.some(isGate) ? 1 : 0)
  clock.advance(LEASE_MS + 1) // the dead do not give back what they hold
  const before = asked.length
  const next = agent()
  const results = await next.recover()
  if (left.length === 0) await next.run(run).result // nothing was entered: the user has to say it again
  const after = await journalOf(store)
  const { lines, unknown } = normalizedLines(await timelineOf(store))
  return {
    failure,
    lost: left.filter((change, index) => JSON.stringify(change) !== JSON.stringify(after[index])),
    askedAgain: asked.slice(before).filter((iteration) => iteration < heard),
    repeated: effects.filter((effect, index) => effect.startsWith('shop.pay') && effects.indexOf(effect) !== index),
    exits: results.map(({ exitReason }) => exitReason),
    lines,
    unknown,
  }
}

const isGate = (change: Change) => change.type === 'response.received' && change.role === 'gate'
