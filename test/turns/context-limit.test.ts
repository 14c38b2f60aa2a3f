import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { type AgentParts, createAgentFrom } from '../../src/agent/agent.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { type BillingModel, billingModel } from '../support/models/billing-model.ts'

/** The limit of the context that the documentation promises. */
const limitOf = (window: number) => Math.min(80_000, window - Math.min(20_000, Math.floor(window / 4)))

/** Creates an agent with a store in memory, and counts its compactions. */
function createCountingAgent(model: BillingModel, parts: Partial<AgentParts> = {}) {
  const clock = createFixedClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const counts = { compactions: 0 }
  const onAfterCompaction = ({ status }: { readonly status: string }) => {
    if (status === 'completed') counts.compactions++
  }
  return { agent: createAgentFrom({ model, store, clock, hooks: [{ onAfterCompaction }], ...parts }), counts, store }
}

const largest = ({ billed }: BillingModel) => Math.max(...billed.map(({ tokens }) => tokens))

describe('a Japanese conversation', () => {
  const question = (n: number) => `${n}番目の質問です。京都で静かに過ごせる場所を教えてください。`
  const answer = (n: number) => `${n}番目の答えです。朝早くなら哲学の道がおすすめです。人が少なく、水の音だけが聞こえます。`.repeat(2)
  const summary = `## Progress\n${'利用者は京都で静かに過ごせる場所を探しています。哲学の道、大原、鞍馬について話しました。'.repeat(60)}`

  it('keeps the limit in every request, whatever the window, and is compacted at most once in six short turns', async () => {
    const table: object[] = []
    for (const [window, turns, length] of [
      [8_000, 60, 1],
      [16_000, 120, 1],
      [32_000, 240, 1],
      [128_000, 60, 20],
    ] as const) {
      let turn = 0
      const model = billingModel({ window, decide: () => reply.answer(answer(turn).repeat(length)), summary })
      const { agent, counts } = createCountingAgent(model)
      for (; turn < turns; turn++) await agent.run('c1', question(turn)).result
      table.push({ window, limit: limitOf(window), turns, compactions: counts.compactions, largest: largest(model) })
      expect(largest(model)).toBeLessThanOrEqual(limitOf(window))
      expect(Math.max(...model.billed.map(({ maxTokens }) => maxTokens))).toBeLessThanOrEqual(window / 4)
      expect(counts.compactions).toBeGreaterThan(0)
      expect(counts.compactions).toBeLessThanOrEqual(turns / 6)
    }
    console.table(table)
  })
})

describe('any conversation', () => {
  const scripts = { latin: 'word and another ', japanese: '言葉と別の言葉。', russian: 'слово и ещё слово ', json: '{"key":[1,2,3]},' }
  interface Text {
    readonly script: keyof typeof scripts
    readonly size: number
  }
  const text = (max: number): fc.Arbitrary<Text> =>
    fc.record({ script: fc.constantFrom('latin', 'japanese', 'russian', 'json'), size: fc.integer({ min: 1, max }) })
  const written = ({ script, size }: Text) => scripts[script].repeat(Math.ceil(size / scripts[script].length)).slice(0, size)
  const action = fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('look' as const), text: text(30_000), sources: fc.nat(40) }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('plan' as const), steps: fc.array(text(500), { minLength: 1, maxLength: 30 }) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('note' as const), text: text(3_000) }) },
  )
  const turn = fc.record({
    question: text(2_000),
    feedback: fc.option(text(3_000)),
    events: fc.array(text(400), { maxLength: 3 }),
    actions: fc.array(action, { maxLength: 5 }),
    answer: text(6_000),
  })
  type Action = typeof action extends fc.Arbitrary<infer T> ? T : never

  const look = (pending: Extract<Action, { kind: 'look' }>[]) =>
    defineTool({
      id: 'web_tools.web_search',
      description: 'Looks something up.',
      params: z.object({}),
      run: () => {
        const { text, sources } = pending.shift() ?? { text: { script: 'latin', size: 1 }, sources: 0 }
        const content = written(text)
        const rows = Array.from({ length: sources }, (_, index) => ({
          url: `https://example.org/${content.length}/${index}`,
          title: `${index} ${content.slice(0, 60)}`,
          text: content.slice(0, 300),
        }))
        return { ok: true as const, ret: sources > 0 ? [...rows, { url: 'https://example.org/all', title: 'all', content }] : content }
      },
    })

  const replyTo = (action: Action, name: string) => {
    if (action.kind === 'look') return reply.call('web_tools.web_search', {})
    if (action.kind === 'plan') return reply.call('react.plan', { mode: 'new', steps: action.steps.map(written) })
    return reply.call('react.write', { path: `notes/${name}.md`, channel: 'internal', content: `[P] ${written(action.text)}` })
  }

  it('keeps the limit in every request, with many sources, long plans, notes, feedback and events', async () => {
    const sizes = { requests: 0, compactions: 0, share: 0 }
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(8_000, 12_000, 16_000, 32_000),
        fc.array(turn, { minLength: 3, maxLength: 10 }),
        async (window, turns) => {
          const replies: string[] = []
          const pending: Extract<Action, { kind: 'look' }>[] = []
          const model = billingModel({
            window,
            decide: () => replies.shift() ?? reply.answer('Done.'),
            summary: `## Progress\n${'言葉が交わされた。 '.repeat(2_000)}`,
          })
          const { agent, counts } = createCountingAgent(model, { tools: [look(pending)], settings: { maxRounds: 8, retryDelaysMs: [] } })
          let last: string | undefined
          for (const [index, { question, actions, answer, feedback, events }] of turns.entries()) {
            pending.splice(0, pending.length, ...actions.filter((each) => each.kind === 'look'))
            replies.splice(0, replies.length, ...actions.map((each, n) => replyTo(each, `${index}-${n}`)), reply.answer(written(answer)))
            if (last !== undefined && feedback !== null) await agent.feedback('c1', written(feedback), { turnId: last, reaction: 'ok' })
            const run = agent.run('c1', written(question))
            for (const event of events) await agent.notify('c1', written(event))
            last = (await run.result).turnId
          }
          sizes.requests += model.billed.length
          sizes.compactions += counts.compactions
          sizes.share = Math.max(sizes.share, largest(model) / limitOf(window))
          for (const { role, tokens } of model.billed)
            expect({ role, tokens, fits: tokens <= limitOf(window) }).toEqual({ role, tokens, fits: true })
        },
      ),
      { numRuns: 20 },
    )
    console.log(
      `${sizes.requests} requests, ${sizes.compactions} compactions, the largest at ${Math.round(100 * sizes.share)} % of its limit`,
    )
    expect(sizes.compactions).toBeGreaterThan(20)
  })

  it('keeps the limit when one message alone is larger: the model reads its beginning and its path', async () => {
    const message = `Translate this. ${written({ script: 'japanese', size: 20_000 })}`
    const model = billingModel({ window: 16_000, decide: () => reply.answer('It is long.') })
    const { agent } = createCountingAgent(model)
    const { answer, turnId } = await agent.run('c1', message).result
    expect(answer).toBe('It is long.')
    expect(largest(model)).toBeLessThanOrEqual(limitOf(16_000))
    expect(model.billed.at(-1)?.text).toContain(`- ar:${turnId}.user.prompt | Translate this.`)
  })
})
