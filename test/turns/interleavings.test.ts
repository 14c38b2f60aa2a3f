import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { replay } from '../../src/agent/replay/replay.ts'
import type { TurnEvent } from '../../src/core/event.ts'
import { applyChange } from '../../src/core/timeline/apply.ts'
import type { Change } from '../../src/core/timeline/change.ts'
import { toPayload } from '../../src/core/timeline/payload.ts'
import { blocksOf, emptyTimeline } from '../../src/core/timeline/timeline.ts'
import { createHarness, type Harness } from '../../src/testing/harness.ts'
import { type Reply, reply } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'

const conversationId = 'c1'

/** An action of a user during a turn, and how many turns of the event loop pass before it. */
type UserAction = {
  readonly kind:
    | 'run'
    | 'runAndAbort'
    | 'send'
    | 'redirect'
    | 'wrapUp'
    | 'stop'
    | 'sendAndStop'
    | 'feedback'
    | 'notify'
    | 'reactiveNotify'
    | 'follow'
  readonly after: number
  readonly twice: boolean
}
/** A kind of model reply, and how slowly it is streamed. */
type ModelAction = { readonly kind: 'call' | 'write' | 'answer' | 'repeat' | 'nonsense'; readonly slowness: number }

const userActions: fc.Arbitrary<readonly UserAction[]> = fc.array(
  fc.record({
    kind: fc.constantFrom(
      'run',
      'runAndAbort',
      'send',
      'redirect',
      'wrapUp',
      'stop',
      'sendAndStop',
      'feedback',
      'notify',
      'reactiveNotify',
      'follow',
    ),
    after: fc.nat(12),
    twice: fc.boolean(),
  }),
  { minLength: 1, maxLength: 10 },
)
const modelActions: fc.Arbitrary<readonly ModelAction[]> = fc.array(
  fc.record({ kind: fc.constantFrom('call', 'write', 'answer', 'repeat', 'nonsense'), slowness: fc.nat(3) }),
  { maxLength: 12 },
)

const unhandled: unknown[] = []
const note = (reason: unknown) => void unhandled.push(reason)
beforeAll(() => void process.on('unhandledRejection', note))
afterAll(() => void process.off('unhandledRejection', note))

it('with any events at any time during turns, every event is folded once, every turn ends, and the journal replays to the same timeline', async () => {
  await fc.assert(
    fc.asyncProperty(userActions, modelActions, fc.constantFrom(0, 1), async (actions, replyKinds, exitGraceMs) => {
      const settings = { exitGraceMs, stopGraceMs: 5, maxRounds: 6, recordPrompts: true }
      const harness = createHarness({ replies: replies(replyKinds), tools: [work()], settings })
      const followers = await performAll(harness, actions)
      await untilIdle(harness)
      harness.clock.advance(3_600_000) // the cache has expired now, so the next turn also reads waiting feedback
      await harness.say('Anything left?')
      const journal = await harness.journal()
      checkEvents(journal)
      checkTurns(journal)
      expect(await harness.timeline()).toMatchObject({ inbox: [] })
      const replayed = journal.reduce(applyChange, emptyTimeline())
      expect(toPayload(replayed)).toEqual(toPayload(await harness.timeline()))
      const replays = await replay(harness.store, conversationId, { tools: [work()], settings })
      expect(replays.flatMap(({ divergence }) => divergence ?? [])).toEqual([])
      await harness.agent.close()
      for (const { after, events } of followers) checkFollower(await events, after, journal.length)
      expect(unhandled).toEqual([])
    }),
    { numRuns: 150 },
  )
}, 60_000)

/** Performs the actions with their delays, and waits for all results. */
async function performAll(harness: Harness, actions: readonly UserAction[]) {
  const { agent } = harness
  const results: Promise<unknown>[] = [agent.run(conversationId, 'Begin.').result]
  const followers: { readonly after: number; readonly events: Promise<readonly TurnEvent[]> }[] = []
  for (const [index, { kind, after, twice }] of actions.entries()) {
    await ticks(after)
    const eventId = `e${index}`
    const perform = (): Promise<unknown> => {
      if (kind === 'run') return agent.run(conversationId, eventId).result
      if (kind === 'runAndAbort') return runAndAbort(harness, eventId, after)
      if (kind === 'send') return agent.send(conversationId, eventId, { eventId })
      if (kind === 'redirect') return agent.steer(conversationId, eventId, { eventId })
      if (kind === 'wrapUp') return agent.steer(conversationId, eventId, { eventId, mode: 'wrap_up' })
      if (kind === 'stop') return agent.steer(conversationId, '', { eventId })
      if (kind === 'sendAndStop') return Promise.all([agent.send(conversationId, eventId, { eventId }), agent.stop(conversationId)])
      if (kind === 'feedback') return agent.feedback(conversationId, '', { turnId: 'turn_0_never0', eventId })
      return agent.notify(conversationId, eventId, { eventId, reactive: kind === 'reactiveNotify' })
    }
    if (kind === 'follow') followers.push({ after: after % 4, events: collect(agent.follow(conversationId, { after: after % 4 })) })
    else results.push(perform(), ...(twice && kind !== 'run' && kind !== 'runAndAbort' ? [perform()] : []))
  }
  await Promise.all(results)
  return followers
}

/** Sends a message and aborts its signal a little later. Then the message is withdrawn, or its turn is stopped, or its turn goes on. */
async function runAndAbort({ agent }: Harness, text: string, after: number): Promise<void> {
  const stop = new AbortController()
  const result = agent.run(conversationId, text, { signal: stop.signal }).result
  result.catch(() => {})
  await ticks(after)
  stop.abort()
  await result.catch((error: unknown) => expect(error).toMatchObject({ name: 'AbortError' }))
}

/** Waits until no turn is open and no followup waits. */
async function untilIdle(harness: Harness): Promise<void> {
  for (;;) {
    const { openTurn, inbox } = await harness.timeline()
    if (openTurn === undefined && !inbox.some(({ kind }) => kind === 'followup')) return
    await ticks(1)
  }
}

function checkEvents(journal: readonly Change[]): void {
  const accepted = journal.flatMap((change) => (change.type === 'event.accepted' ? [change.event] : []))
  const folded = journal.flatMap((change) => (change.type === 'event.folded' ? change.event_ids : []))
  const ids = accepted.map(({ event_id }) => event_id)
  expect(new Set(ids).size).toBe(ids.length)
  expect(accepted.map(({ sequence }) => sequence)).toEqual(accepted.map((_, index) => index + 1))
  expect(folded.toSorted()).toEqual(ids.toSorted())
  for (const change of journal) {
    if (change.type !== 'event.folded') continue
    const positions = change.event_ids.map((id) => ids.indexOf(id))
    expect(positions).toEqual(positions.toSorted((a, b) => a - b))
  }
  checkStops(journal)
  const messages = blocksOf(journal.reduce(applyChange, emptyTimeline())).filter(
    ({ type }) => type === 'user.followup' || type === 'user.prompt',
  )
  const texts = messages.flatMap(({ text = '' }) => (text.startsWith('e') ? [text] : []))
  expect(new Set(texts).size).toBe(texts.length)
}

/** Checks that a stopped turn reads every followup that waited when the stop arrived. Withdrawn followups are not read. */
function checkStops(journal: readonly Change[]): void {
  const turnOf = new Map(
    journal.flatMap((change) => (change.type === 'event.folded' ? change.event_ids.map((id) => [id, change.turn_id] as const) : [])),
  )
  const waiting = new Set<string>()
  for (const change of journal) {
    if (change.type === 'event.folded') for (const id of change.event_ids) waiting.delete(id)
    if (change.type !== 'event.accepted') continue
    const { event_id, kind, text, target_turn_id } = change.event
    if (kind === 'followup') waiting.add(event_id)
    if (kind === 'steer' && text === '') for (const id of waiting) expect([target_turn_id, null]).toContain(turnOf.get(id))
  }
}

function checkTurns(journal: readonly Change[]): void {
  const opened = journal.flatMap((change) => (change.type === 'turn.opened' ? [change.turn_id] : []))
  const closed = journal.flatMap((change) => (change.type === 'turn.closed' ? [change.turn_id] : []))
  expect(closed).toEqual(opened)
  const blocks = blocksOf(journal.reduce(applyChange, emptyTimeline()))
  for (const turnId of opened) {
    const own = blocks.filter(({ turn_id }) => turn_id === turnId)
    expect(own.filter(({ type }) => type === 'assistant.completion').length).toBeGreaterThan(0)
    const called = own.filter(({ type }) => type === 'react.tool.call').map(({ call_id }) => call_id)
    expect(called.filter((id) => !own.some(({ type, call_id }) => type === 'react.tool.result' && call_id === id))).toEqual([])
  }
}

function checkFollower(events: readonly TurnEvent[], after: number, count: number): void {
  const seqs = events.flatMap((event) => (event.type === 'entry' ? [event.seq] : []))
  expect(seqs).toEqual(Array.from({ length: count - after }, (_, n) => after + n + 1))
}

async function collect(events: AsyncIterable<TurnEvent>): Promise<readonly TurnEvent[]> {
  const all: TurnEvent[] = []
  for await (const event of events) all.push(event)
  return all
}

function replies(actions: readonly ModelAction[]): readonly Reply[] {
  const scripted = actions.map(({ kind, slowness }, index): Reply => {
    return { text: replyText(kind, index), chunks: 60, onChunk: () => ticks(slowness) }
  })
  return [...scripted, ...Array.from({ length: 60 }, (_, n) => reply.answer(`That was all, for the ${n}th time.`))]
}

function replyText(kind: ModelAction['kind'], index: number): string {
  if (kind === 'call') return reply.call('some.work', { ticks: index % 4 })
  if (kind === 'write') return reply.call('react.write', { path: 'files/a.md', channel: 'canvas', content: `${index}`, kind: 'file' })
  if (kind === 'repeat') return reply.answer('The same as ever, and nothing else.')
  return kind === 'nonsense' ? 'Sure, I can do that.' : reply.answer(`Answer number ${index}, and a different one it is.`)
}

/** A tool that takes some turns of the event loop. If it takes three, it ignores its signal. */
const work = () =>
  defineTool({
    id: 'some.work',
    description: 'Takes a while.',
    params: z.object({ ticks: z.number() }),
    async run({ ticks: count }, { signal }) {
      for (let n = 0; n < count; n++) {
        await ticks(1)
        if (count !== 3) signal.throwIfAborted()
      }
      return 'done'
    },
  })

async function ticks(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve))
}
