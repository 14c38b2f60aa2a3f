import { setImmediate as nextTask } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createAgentFrom } from '../../src/agent/agent.ts'
import type { Agent } from '../../src/agent/agent-interface.ts'
import type { TurnResult } from '../../src/agent/turn/result.ts'
import type { Change } from '../../src/core/timeline/change.ts'
import type { ConversationStore } from '../../src/ports/store.ts'
import { journalOf } from '../../src/testing/conformance/store/fixture.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { openTestStore, runsOf } from '../support/stores.ts'

/** What one of two agents does, after this many tasks of the event loop. */
interface Step {
  readonly agent: 0 | 1
  readonly act: 'run' | 'send' | 'send twice' | 'steer' | 'stop' | 'notify' | 'abort' | 'replace'
  readonly pause: number
}

const steps = fc.array(
  fc.record<Step>({
    agent: fc.constantFrom(0, 1),
    act: fc.constantFrom('run', 'run', 'send', 'send', 'send twice', 'steer', 'stop', 'notify', 'abort', 'replace'),
    pause: fc.integer({ min: 0, max: 12 }),
  }),
  { minLength: 4, maxLength: 14 },
)

/** Written over several tasks of the event loop, so that the other agent often acts while a turn runs. */
const answer = { text: reply.answer('Done.'), chunks: 12, onChunk: () => nextTask() }

/** Two agents on one store. Each stands for a process. */
async function playSteps(plan: readonly Step[]) {
  const clock = createFixedClock()
  const shared = await openTestStore({ clock })
  let offers = 0
  const offer: ConversationStore['offer'] = (...given) => {
    offers++
    return shared.offer(...given)
  }
  const store = { ...shared, offer }
  const problems: unknown[] = []
  const open = (): Agent =>
    createAgentFrom({
      model: scriptedModel(Array.from({ length: 60 }, () => answer)),
      store,
      clock,
      onProblem: (problem) => void problems.push(problem),
    })
  const agents: [Agent, Agent] = [open(), open()]
  await agents[0].run('c1', 'message-first').result
  const pending: Promise<unknown>[] = []
  const add = (promise: Promise<unknown>) => {
    promise.catch(() => {}) // it is checked at the end
    pending.push(promise)
  }
  const stored: string[] = []
  const noteStored = (text: string, how?: string) => {
    if (how !== 'known') stored.push(text)
  }
  const withdrawn: Promise<string | undefined>[] = []
  let handles = 0
  for (const [index, { agent: place, act, pause }] of plan.entries()) {
    for (let n = 0; n < pause; n++) await nextTask()
    const agent = agents[place]
    const text = `message-${index}`
    if (act === 'run') {
      handles++
      add(readRun(agent.run('c1', text)).then(({ exitReason }) => exitReason === 'cancelled' || noteStored(text)))
    } else if (act === 'send' || act === 'send twice') {
      const senders = act === 'send' ? [agent] : [agent, agents[1 - place] as Agent]
      for (const each of senders) add(each.send('c1', text, { eventId: text }).then(({ how }) => noteStored(text, how)))
    } else if (act === 'abort') {
      const controller = new AbortController()
      const result = agent.run('c1', text, { signal: controller.signal }).result
      for (let n = 0; n < pause; n++) await nextTask()
      controller.abort()
      withdrawn.push(
        result.then(
          () => undefined,
          (error: Error) => (error.message.includes('withdrawn') ? text : undefined),
        ),
      )
    } else if (act === 'replace') {
      agents[place] = open()
      add(agent.close())
    } else if (act === 'notify') add(agent.notify('c1', text))
    else add(act === 'stop' ? agent.stop('c1') : agent.steer('c1', text))
  }
  const settled = await Promise.allSettled(pending)
  const failures = settled.flatMap((each) => (each.status === 'rejected' && !isClosed(each.reason) ? [each.reason] : []))
  const withdrawnTexts = (await Promise.all(withdrawn)).flatMap((text) => text ?? [])
  await untilQuiet(store, agents)
  for (const agent of agents) await agent.close()
  return { store, stored, problems, failures, withdrawnTexts, handles, offers }
}

/** The message of a closed agent is rejected, or its result says that it was cancelled. */
const isClosed = (error: unknown) => error instanceof Error && /closed|closing/.test(error.message)

/** Reads a handle to its end and checks that it has no entry twice and leaves none out. */
async function readRun(handle: AsyncIterable<{ readonly type: string; readonly seq?: number }> & { readonly result: Promise<TurnResult> }) {
  const seqs: number[] = []
  for await (const event of handle) if (event.type === 'entry') seqs.push(event.seq ?? 0)
  expect(seqs).toEqual(seqs.map((_, n) => (seqs[0] ?? 0) + n))
  return handle.result
}

async function untilQuiet(store: ConversationStore, agents: readonly Agent[]): Promise<void> {
  for (let n = 0; n < 400; n++) {
    for (const agent of agents) await agent.drain(5_000)
    const head = await store.head('c1')
    if (head && head.openTurn === null && head.waiting.length === 0 && head.offers === 0) return
    await agents[0]?.recover()
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

const texts = (changes: readonly Change[]) =>
  changes.flatMap((change) => (change.type === 'blocks.appended' ? change.blocks.filter(({ type }) => type.startsWith('user.')) : []))

it('two agents that share a conversation, in any order: every message is read once or was withdrawn, and nothing is left over', async () => {
  const runs = runsOf(60)
  const counts = { runs: 0, offers: 0 }
  await fc.assert(
    fc.asyncProperty(steps, async (plan) => {
      const { store, stored, problems, failures, withdrawnTexts, handles, offers } = await playSteps(plan)
      expect(failures).toEqual([])
      expect(problems).toEqual([])
      expect(await store.head('c1')).toMatchObject({ openTurn: null, waiting: [], offers: 0 })
      const changes = (await journalOf(store, 'c1')).map(({ change }) => change)
      const read = texts(changes).map(({ text }) => text)
      expect(stored.filter((text) => !read.includes(text))).toEqual([])
      expect(read.filter((text, index) => text !== '' && read.indexOf(text) !== index)).toEqual([]) // a stop has no text
      expect(withdrawnTexts.filter((text) => read.includes(text))).toEqual([])
      counts.runs += handles
      counts.offers += offers
    }),
    { numRuns: runs },
  )
  expect(counts.runs).toBeGreaterThan(runs / 3)
  expect(counts.offers).toBeGreaterThan((runs * 2) / 3)
}, 180_000)
