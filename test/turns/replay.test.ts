import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { createAgentFrom } from '../../src/agent/agent.ts'
import { divergenceText } from '../../src/agent/replay/divergence.ts'
import { replay } from '../../src/agent/replay/replay.ts'
import { blockRenderers } from '../../src/core/render/blocks/index.ts'
import type { Part } from '../../src/core/render/types.ts'
import { createHarness } from '../../src/testing/harness.ts'
import { answers, calls, scriptedModel } from '../../src/testing/scripted-model.ts'
import type { Scenario } from '../support/scenario.ts'
import { slowTool, weather } from '../support/scenario-tools.ts'

const here = join(import.meta.dirname, '../scenarios')
const names = readdirSync(here).filter((name) => existsSync(join(here, name, 'scenario.ts')))
const scenarios = await Promise.all(
  names.map(async (name) => ({ name, scenario: ((await import(`../scenarios/${name}/scenario.ts`)) as { default: Scenario }).default })),
)

/** Plays a story, then what was recorded of it. */
async function replayed(scenario: Scenario, recordPrompts: boolean) {
  const cast = scenario.setup()
  const settings = { ...cast.settings, recordPrompts }
  const harness = createHarness({ ...cast, settings })
  await (scenario.run ?? ((given) => given.say('Please do it.')))(harness)
  await harness.agent.close()
  const parts = scenario.setup()
  const turns = await replay(harness.store, harness.conversation, { ...parts, settings })
  const answered = (await harness.journal()).filter((change) => change.type === 'response.received' && change.role === undefined)
  expect(turns.reduce((sum, { rounds }) => sum + rounds, 0)).toBe(answered.length) // each was looked at
  return turns
}

describe('what was recorded of a story', () => {
  let turns = 0
  it.each(scenarios)('$name is what the present code does', async ({ scenario }) => {
    const found = await replayed(scenario, true)
    turns += found.length
    expect(found.flatMap(({ divergence }) => (divergence ? [divergenceText(divergence)] : []))).toEqual([])
  })

  it('are fifty turns and more', () => expect(turns).toBeGreaterThanOrEqual(50))
})

afterEach(() => void vi.restoreAllMocks())

/** A conversation of two turns, its text beyond ASCII. */
async function recorded(settings: { readonly recordPrompts: boolean }) {
  const replies = [
    calls('weather.today', { city: 'Zürich' }),
    answers('Klar, 21°.'),
    calls('weather.today', { city: 'Köln' }),
    answers('Auch.'),
  ]
  const harness = createHarness({ replies, tools: [weather()], settings })
  await harness.say('Wie ist das Wetter in Zürich?')
  await harness.say('Und in Köln?')
  return { harness, again: (parts = {}) => replay(harness.store, harness.conversation, { tools: [weather()], settings, ...parts }) }
}

/** Another letter in every block of that type that says so, behind the word. */
function plant(type: keyof typeof blockRenderers, word: string): void {
  const before = blockRenderers[type]
  const misspelt = (part: Part): Part => (part.type === 'text' ? { ...part, text: part.text.replace(`${word}"`, `${word}!`) } : part)
  vi.spyOn(blockRenderers, type).mockImplementation((block, context) => before(block, context).map(misspelt))
}

describe('a renderer with one other letter', () => {
  it('is found at the block and the byte where the letter stands', async () => {
    const { harness, again } = await recorded({ recordPrompts: true })
    const [result] = (await harness.timeline()).buffer.blocks.filter(
      ({ type, text }) => type === 'react.tool.result' && text?.includes('Zürich'),
    )
    plant('react.tool.result', 'Zürich')
    const [first, second] = await again()
    const shown = renderedText(harness, 'Zürich"')
    expect(first?.divergence).toMatchObject({
      kind: 'prompt',
      where: 'block',
      iteration: 1,
      block: { id: result?.id, type: 'react.tool.result', path: result?.path },
      byte: Buffer.byteLength(shown.slice(0, shown.indexOf('Zürich"') + 'Zürich'.length)),
      recorded: expect.stringMatching(/^"/),
      present: expect.stringMatching(/^!/),
    })
    expect(second?.divergence).toMatchObject({ where: 'block', iteration: 0, block: { id: result?.id } }) // the old turn is shown there, too
  })

  it.each([
    ['user.prompt', 'Wetter', 0],
    ['react.tool.call', 'weather.today', 1],
    ['assistant.completion', 'Klar', 0],
  ] as const)('is found wherever it is: %s, behind %s', async (type, word, iteration) => {
    const { harness, again } = await recorded({ recordPrompts: true })
    const found = (await harness.timeline()).buffer.blocks.find((block) => block.type === type)
    const before = blockRenderers[type] as (...given: Parameters<(typeof blockRenderers)[typeof type]>) => readonly Part[]
    let byte = -1
    vi.spyOn(blockRenderers, type).mockImplementation((...given: Parameters<typeof before>) =>
      before(...given).map((part) => {
        if (part.type !== 'text' || !part.text.includes(word)) return part
        const at = part.text.indexOf(word) + word.length
        byte = Buffer.byteLength(part.text.slice(0, at))
        return { ...part, text: `${part.text.slice(0, at)}~${part.text.slice(at + 1)}` }
      }),
    )
    const turns = await again()
    const { divergence } = turns.find((turn) => turn.divergence) ?? {}
    expect(divergence).toMatchObject({ kind: 'prompt', where: 'block', iteration, block: { id: found?.id, type }, byte })
    expect(divergence).toMatchObject({ present: expect.stringMatching(/^~/), recorded: expect.not.stringMatching(/^~/) })
  })

  it('is found at the block when only hashes were kept', async () => {
    const { again } = await recorded({ recordPrompts: false })
    plant('react.tool.result', 'Köln')
    const [first, second] = await again()
    expect(first?.divergence).toBeUndefined()
    expect(second?.divergence).toMatchObject({ kind: 'prompt', where: 'block', iteration: 1, block: { type: 'react.tool.result' } })
    expect(second?.divergence).not.toHaveProperty('byte')
  })

  /** The shown block as it was sent, from the model's own record. */
  function renderedText(harness: Awaited<ReturnType<typeof recorded>>['harness'], word: string): string {
    const parts = harness.model.requests.filter(({ role }) => role === 'decision')[1]?.parts ?? []
    const sent = parts.map((part) => (part.type === 'text' ? part.text : '')).find((text) => text.includes(word)) ?? ''
    return sent.split('\n\n').find((block) => block.includes(word) && block.includes('sky')) ?? ''
  }
})

describe('a change of the agent', () => {
  it('of its words is found in the system text, of its tools in the tools; whoever asks is told what else changes', async () => {
    const { again } = await recorded({ recordPrompts: true })
    const where = async (parts: object) =>
      (await again(parts)).map(({ divergence }) => divergence && 'where' in divergence && divergence.where)
    expect(await where({ customisation: 'Be brief.' })).toEqual(['system text', 'system text'])
    expect(await where({ tools: [weather(), slowTool()] })).toEqual(['tools', 'tools'])
    expect(await where({ customisation: 'Be brief.', anySystem: true })).toEqual([undefined, undefined])
  })

  it('that refuses what was done then is found where the two part', async () => {
    const { again } = await recorded({ recordPrompts: true })
    const [first] = await again({ tools: [], anySystem: true })
    expect(first?.divergence && divergenceText(first.divergence)).toMatch(
      /^entry \d+: on record .*react\.tool\.call.*; now .*react\.notice/,
    )
  })

  it('of its budget is found in the tail, where the budget is told', async () => {
    const { again } = await recorded({ recordPrompts: true })
    const [first] = await again({ settings: { maxRounds: 9 } })
    expect(first?.divergence).toMatchObject({
      kind: 'prompt',
      where: 'tail',
      recorded: expect.stringMatching(/^15/),
      present: expect.stringMatching(/^9/),
    })
  })

  it('of its marks is found at the block that the mark stood behind', async () => {
    const { again } = await recorded({ recordPrompts: true })
    const [, second] = await again({ settings: { cache: { minRounds: 99, offsetRounds: 4, markUserInput: true } } })
    expect(second?.divergence).toMatchObject({ kind: 'prompt', where: 'marks', block: { id: expect.stringMatching(/^b_/) } })
  })
})

describe('a turn on record', () => {
  it('is chosen by its id, and one that is not there is missing', async () => {
    const { harness, again: _again } = await recorded({ recordPrompts: false })
    const [opened] = (await harness.journal()).filter(({ type }) => type === 'turn.opened')
    const turnId = opened?.type === 'turn.opened' ? opened.turn_id : ''
    expect((await replay(harness.store, harness.conversation, { tools: [weather()] }, turnId)).map((turn) => turn.turnId)).toEqual([turnId])
    await expect(replay(harness.store, harness.conversation, {}, 'turn_none')).rejects.toMatchObject({ code: 'turn.missing' })
  })

  it('whose history was let go is not judged', async () => {
    const { harness } = await recorded({ recordPrompts: false })
    const cut = {
      ...harness.store,
      async *readJournal(...asked: Parameters<typeof harness.store.readJournal>) {
        for await (const entry of harness.store.readJournal(...asked)) if (entry.seq !== 4) yield entry
      },
    }
    expect(await replay(cut, harness.conversation)).toEqual([1, 2].map(() => ({ turnId: expect.any(String), rounds: 0, torn: true })))
  })

  it('that was played by the clock on the wall is the same by the times on record', async () => {
    const clock = createSystemClock()
    const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
    const replies = [calls('weather.today', { city: 'Rome' }), { text: answers('Clear.'), delayMs: 20 }]
    const agent = createAgentFrom({ model: scriptedModel(replies), store, clock, tools: [weather()], settings: { recordPrompts: true } })
    await agent.run({ conversation: 'c', input: 'Rome?' }).result
    expect(await replay(store, 'c', { tools: [weather()] })).toEqual([{ turnId: expect.any(String), rounds: 2 }])
  })

  it('that a process left behind and another took up is one turn; one that is still open is gone through as far as it came', async () => {
    let started = () => {}
    const running = new Promise<void>((resolve) => {
      started = resolve
    })
    const tools = [slowTool({ started: () => started() })]
    const harness = createHarness({ replies: [calls('slow.work')], tools })
    harness.agent.run({ conversation: 'c1', input: 'Do it.' }).result.catch(() => {})
    await running
    await harness.agent.close()
    expect(await replay(harness.store, 'c1', { tools })).toEqual([{ turnId: expect.any(String), rounds: 1 }])
    const next = createHarness({ replies: [answers('Without it, then.')], tools, store: harness.store, clock: harness.clock })
    await next.agent.recover()
    expect(await replay(harness.store, 'c1', { tools })).toEqual([{ turnId: expect.any(String), rounds: 2 }])
  })
})
