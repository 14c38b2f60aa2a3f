import { describe, expect, it } from 'vitest'
import { deltasOf, laneText } from '../../../test/support/watch-turn.ts'
import { costReport } from '../../core/cost/cost.ts'
import { roughTokens } from '../../core/estimate/tokens.ts'
import type { TurnEvent } from '../../core/event.ts'
import { blocksOf } from '../../core/timeline/timeline.ts'
import { LEASE_MS } from '../../ports/store.ts'
import { createHarness, type Harness, type HarnessOptions } from '../../testing/harness.ts'
import { type Reply, reply } from '../../testing/scripted-model.ts'
import { replay } from '../replay/replay.ts'

const answer = reply.answer('It is clear in Rome.', { followups: ['And Paris?'] })
const writing = reply.call('react.write', { path: 'files/report.md', channel: 'canvas', content: 'Clear.', kind: 'file' })
const forever = () => new Promise<never>(() => {})

/** A slow step between the end of a response and the commit that ends its turn. `reached` is called when the turn has reached this step. */
interface SlowEnd {
  readonly replies: readonly Reply[]
  readonly exitReason: string
  options(reached: () => void): Partial<HarnessOptions>
}

const hanging = (name: 'onBeforeCompletion' | 'onAfterCompletion', reached: () => void): Partial<HarnessOptions> => ({
  hooks: [
    {
      [name]: () => {
        reached()
        return forever()
      },
    },
  ],
})

const slowEnds: Readonly<Record<string, SlowEnd>> = {
  'the exit grace': {
    replies: [answer],
    exitReason: 'complete',
    options: (reached) => ({ settings: { exitGraceMs: 600_000 }, onEntry: (_id, { change }) => isDecision(change) && reached() }),
  },
  'a hook before the completion': {
    replies: [answer],
    exitReason: 'complete',
    options: (reached) => hanging('onBeforeCompletion', reached),
  },
  'a hook after the completion': { replies: [answer], exitReason: 'complete', options: (reached) => hanging('onAfterCompletion', reached) },
  'publishing the workspace': {
    replies: [writing, answer],
    exitReason: 'complete',
    options: (reached) => {
      const { workspaces } = createHarness({ replies: [] })
      let first = true
      return {
        workspaces: {
          ...workspaces,
          async open(...args) {
            const workspace = await workspaces.open(...args)
            const publish: typeof workspace.publish = (...published) => {
              if (!first) return workspace.publish(...published)
              first = false
              reached()
              return forever()
            }
            return { ...workspace, publish }
          },
        },
      }
    },
  },
  'a hook after the wrap-up answer': {
    replies: [writing, answer],
    exitReason: 'max_iterations',
    options: (reached) => ({ ...hanging('onBeforeCompletion', reached), settings: { maxRounds: 1 } }),
  },
  'a hook after the third bad reply': {
    replies: ['<channel:answer>no', '<channel:answer>no', '<channel:answer>no'],
    exitReason: 'protocol_violation',
    options: (reached) => hanging('onBeforeCompletion', reached),
  },
  'a hook after the failure of the provider': {
    replies: [{ error: { kind: 'authentication', message: 'no key' } }],
    exitReason: 'error',
    options: (reached) => hanging('onBeforeCompletion', reached),
  },
}

const isDecision = (change: { readonly type: string; readonly role?: string }) =>
  change.type === 'response.received' && change.role === undefined

/** Runs a turn until it reaches the slow step. `followed` has all its events so far. */
async function holdUp({ replies, options }: SlowEnd): Promise<{ readonly harness: Harness; readonly followed: readonly TurnEvent[] }> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const harness = createHarness({ replies, ...options(resolve) })
  const followed: TurnEvent[] = []
  const turn = harness.agent.run('c1', 'How is Rome?')
  void (async () => {
    for await (const event of turn) followed.push(event)
  })()
  await promise
  for (let n = 0; n < 20; n++) await new Promise((done) => setImmediate(done))
  return { harness, followed }
}

/**
 * Resumes the turn with another agent, as after the death of the process. The model of this agent has no replies, so every call of it would
 * fail.
 */
async function resume({ store, clock, workspaces }: Harness, settings: HarnessOptions['settings'] = {}) {
  clock.advance(LEASE_MS + 1)
  const next = createHarness({ replies: [], store, clock, workspaces, settings: { ...settings, exitGraceMs: 0 } })
  const { results } = await next.agent.recover()
  return { next, results }
}

describe.each(Object.entries(slowEnds))('while %s takes its time, a response', (_name, slow) => {
  it('is in the journal once, with the number of rounds that were paid, and has no blocks yet', async () => {
    const { harness } = await holdUp(slow)
    const journal = await harness.journal()
    expect(journal.filter(isDecision)).toHaveLength(slow.replies.length)
    expect(journal.at(-1)).toMatchObject({ type: 'response.received', iteration: slow.replies.length - 1 })
  })

  it('is acted on by the next process without another call of the model, and replays', async () => {
    const { harness } = await holdUp(slow)
    const before = await harness.journal()
    const { next, results } = await resume(harness, slow.exitReason === 'max_iterations' ? { maxRounds: 1 } : {})
    expect(next.model.requests).toEqual([])
    expect(results).toMatchObject([{ exitReason: slow.exitReason }])
    const journal = await next.journal()
    expect(journal.slice(0, before.length)).toEqual(before)
    expect(journal.filter(isDecision)).toHaveLength(slow.replies.length)
    const completions = blocksOf(await next.timeline()).filter(({ type }) => type === 'assistant.completion')
    expect(completions).toHaveLength(1)
    if (slow.replies.at(-1) === answer) expect(completions).toMatchObject([{ text: 'It is clear in Rome.' }])
    const replayed = await replay(next.store, 'c1', { settings: slow.exitReason === 'max_iterations' ? { maxRounds: 1 } : {} })
    expect(replayed).toEqual([{ turnId: results[0]?.turnId, rounds: slow.replies.length }])
  })
})

describe('while the answer waits for late messages', () => {
  it('every follower sees the streamed answer, whether it followed from the start or joins now', async () => {
    const { harness, followed } = await holdUp(slowEnds['the exit grace'] as SlowEnd)
    expect(laneText(followed, 'answer')).toBe('It is clear in Rome.')
    for (const after of [0, (await harness.journal()).length]) {
      const late: TurnEvent[] = []
      for await (const event of harness.agent.follow('c1', { after })) {
        late.push(event)
        if (deltasOf(late, 'answer').at(-1)?.delta.completed) break
      }
      expect(laneText(late, 'answer')).toBe('It is clear in Rome.')
    }
  })

  it('an imported copy holds the question and goes on without the answer; the original is not changed', async () => {
    const { harness } = await holdUp(slowEnds['the exit grace'] as SlowEnd)
    const { store, clock } = harness
    const before = await store.exportBundle('c1')
    await store.importBundle(before, { as: 'c2' })
    const copy = createHarness({ replies: [reply.answer('Still clear.')], store, clock, conversationId: 'c2' })
    expect((await copy.say('And now?')).answer).toBe('Still clear.')
    expect(blocksOf(await copy.timeline()).map(({ type }) => type)).toEqual(
      expect.arrayContaining(['user.prompt', 'user.prompt', 'assistant.completion']),
    )
    expect(await store.exportBundle('c1')).toEqual(before)
  })

  it('an open turn replays up to its response', async () => {
    const { harness } = await holdUp(slowEnds['the exit grace'] as SlowEnd)
    expect(await replay(harness.store, 'c1')).toMatchObject([{ rounds: 1 }])
    expect((await replay(harness.store, 'c1'))[0]?.divergence).toBeUndefined()
  })
})

it('costs are attributed alike, whether the blocks of a response follow it at once or after another entry', async () => {
  const harness = createHarness({ replies: [writing, answer] })
  await harness.say('How is Rome?')
  const changes = await harness.journal()
  const at = changes.findLastIndex((change) => isDecision(change))
  const event = { event_id: 'e1', sequence: 1, kind: 'external' as const, ts: '2026-01-01T00:00:00.000Z', text: 'News.' }
  const apart = changes.toSpliced(at + 1, 0, { type: 'event.accepted', event })
  const costs = [changes, apart].map((journal) =>
    costReport(
      journal.map((change, index) => ({ seq: index + 1, change })),
      { chargeOf: () => undefined, count: roughTokens },
    ),
  )
  expect(changes[at + 1]?.type).toBe('blocks.appended')
  expect(costs[1]).toEqual(costs[0])
})

it('a final round without grace, hooks and files is one commit', async () => {
  const commits: (readonly string[])[] = []
  const { store } = createHarness({ replies: [] })
  const counting: typeof store = {
    ...store,
    append(claim, changes) {
      commits.push(changes.map(({ type }) => type))
      return store.append(claim, changes)
    },
  }
  await createHarness({ replies: [answer], store: counting }).say('How is Rome?')
  expect(commits.at(-1)).toEqual(['response.received', 'blocks.appended', 'turn.closed'])
})
