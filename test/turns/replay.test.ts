import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { createAgentFrom } from '../../src/agent/agent.ts'
import { divergenceText } from '../../src/agent/replay/divergence.ts'
import { replay } from '../../src/agent/replay/replay.ts'
import type { Block } from '../../src/core/block/index.ts'
import { blockRenderers } from '../../src/core/render/blocks/index.ts'
import type { Part } from '../../src/core/render/types.ts'
import { blocksOf } from '../../src/core/timeline/timeline.ts'
import { createHarness } from '../../src/testing/harness.ts'
import { reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import type { Scenario } from '../support/scenario.ts'
import { slowTool, weather } from '../support/scenario-tools.ts'

const here = join(import.meta.dirname, '../scenarios')
const names = readdirSync(here).filter((name) => existsSync(join(here, name, 'scenario.ts')))
const scenarios = await Promise.all(
  names.map(async (name) => ({ name, scenario: ((await import(`../scenarios/${name}/scenario.ts`)) as { default: Scenario }).default })),
)

/** Runs a scenario, then replays its journal. */
async function runAndReplay(scenario: Scenario, recordPrompts: boolean) {
  const setup = scenario.setup()
  const settings = { ...setup.settings, recordPrompts }
  const harness = createHarness({ ...setup, settings })
  await (scenario.run ?? ((harness) => harness.say('Please do it.')))(harness)
  await harness.agent.close()
  const parts = scenario.setup()
  const turns = await replay(harness.store, harness.conversationId, { ...parts, settings })
  const answered = (await harness.journal()).filter((change) => change.type === 'response.received' && change.role === undefined)
  expect(turns.reduce((sum, { rounds }) => sum + rounds, 0)).toBe(answered.length) // every round was replayed
  return turns
}

describe('the recorded journal of a scenario', () => {
  let turns = 0
  it.each(scenarios)('$name replays without a divergence', async ({ scenario }) => {
    const found = await runAndReplay(scenario, true)
    turns += found.length
    expect(found.flatMap(({ divergence }) => (divergence ? [divergenceText(divergence)] : []))).toEqual([])
  })

  it('the scenarios have at least fifty turns', () => expect(turns).toBeGreaterThanOrEqual(50))
})

afterEach(() => void vi.restoreAllMocks())

/** A conversation of two turns, with text outside of ASCII. */
async function recordConversation(settings: { readonly recordPrompts: boolean }) {
  const replies = [
    reply.call('weather.today', { city: 'Zürich' }),
    reply.answer('Klar, 21°.'),
    reply.call('weather.today', { city: 'Köln' }),
    reply.answer('Auch.'),
  ]
  const harness = createHarness({ replies, tools: [weather()], settings })
  await harness.say('Wie ist das Wetter in Zürich?')
  await harness.say('Und in Köln?')
  return { harness, replayAgain: (parts = {}) => replay(harness.store, harness.conversationId, { tools: [weather()], settings, ...parts }) }
}

/** Changes the character after `word` in every rendered block of this type. */
function changeRenderer(type: keyof typeof blockRenderers, word: string): void {
  const before = blockRenderers[type]
  const misspelt = (part: Part): Part => (part.type === 'text' ? { ...part, text: part.text.replace(`${word}"`, `${word}!`) } : part)
  vi.spyOn(blockRenderers, type).mockImplementation((block, context) => before(block, context).map(misspelt))
}

it('a recording of a version that did not mark outputs replays without a divergence', async () => {
  const { harness } = await recordConversation({ recordPrompts: true })
  const blobs = createMemoryBlobs()
  const older = createMemoryStore({ blobs, clock: createSystemClock() })
  const claim = await older.claim('c1', { id: 'i', pid: 1, host: 'h' })
  const unmarked = (await harness.journal()).map((change) =>
    change.type === 'blocks.appended' ? { ...change, blocks: change.blocks.map(withoutVisibility) } : change,
  )
  expect(unmarked).not.toEqual(await harness.journal())
  for (const change of unmarked) await older.append(claim, [change])
  const turns = await replay(older, 'c1', { tools: [weather()], settings: { recordPrompts: true } })
  expect(turns.map(({ divergence }) => divergence)).toEqual([undefined, undefined])
})

function withoutVisibility(block: Block): Block {
  if (block.meta?.visibility === undefined) return block
  const { visibility: _mark, ...meta } = block.meta
  return { ...block, meta }
}

describe('a renderer that changes one character', () => {
  it('is reported with the block and the byte of the change', async () => {
    const { harness, replayAgain } = await recordConversation({ recordPrompts: true })
    const [result] = blocksOf(await harness.timeline()).filter(({ type, text }) => type === 'react.tool.result' && text?.includes('Zürich'))
    changeRenderer('react.tool.result', 'Zürich')
    const [first, second] = await replayAgain()
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
    // the prompt of the second turn also contains the changed block of the first
    expect(second?.divergence).toMatchObject({ where: 'block', iteration: 0, block: { id: result?.id } })
  })

  it.each([
    ['user.prompt', 'Wetter', 0],
    ['react.tool.call', 'weather.today', 1],
    ['assistant.completion', 'Klar', 0],
  ] as const)('is reported in every block type: %s, after %s', async (type, word, iteration) => {
    const { harness, replayAgain } = await recordConversation({ recordPrompts: true })
    const found = blocksOf(await harness.timeline()).find((block) => block.type === type)
    const before = blockRenderers[type] as (...args: Parameters<(typeof blockRenderers)[typeof type]>) => readonly Part[]
    let byte = -1
    vi.spyOn(blockRenderers, type).mockImplementation((...args: Parameters<typeof before>) =>
      before(...args).map((part) => {
        if (part.type !== 'text' || !part.text.includes(word)) return part
        const at = part.text.indexOf(word) + word.length
        byte = Buffer.byteLength(part.text.slice(0, at))
        return { ...part, text: `${part.text.slice(0, at)}~${part.text.slice(at + 1)}` }
      }),
    )
    const turns = await replayAgain()
    const { divergence } = turns.find((turn) => turn.divergence) ?? {}
    expect(divergence).toMatchObject({ kind: 'prompt', where: 'block', iteration, block: { id: found?.id, type }, byte })
    expect(divergence).toMatchObject({ present: expect.stringMatching(/^~/), recorded: expect.not.stringMatching(/^~/) })
  })

  it('is reported with the block when only hashes were recorded', async () => {
    const { replayAgain } = await recordConversation({ recordPrompts: false })
    changeRenderer('react.tool.result', 'Köln')
    const [first, second] = await replayAgain()
    expect(first?.divergence).toBeUndefined()
    expect(second?.divergence).toMatchObject({ kind: 'prompt', where: 'block', iteration: 1, block: { type: 'react.tool.result' } })
    expect(second?.divergence).not.toHaveProperty('byte')
  })

  /** The rendered block with this word, taken from a request that the model got. */
  function renderedText(harness: Awaited<ReturnType<typeof recordConversation>>['harness'], word: string): string {
    const parts = harness.model.requests.filter(({ role }) => role === 'decision')[1]?.parts ?? []
    const sent = parts.map((part) => (part.type === 'text' ? part.text : '')).find((text) => text.includes(word)) ?? ''
    return sent.split('\n\n').find((block) => block.includes(word) && block.includes('sky')) ?? ''
  }
})

describe('a changed agent', () => {
  it('diverges in the system text or the tools, and anySystem ignores both', async () => {
    const { replayAgain } = await recordConversation({ recordPrompts: true })
    const where = async (parts: object) =>
      (await replayAgain(parts)).map(({ divergence }) => divergence && 'where' in divergence && divergence.where)
    expect(await where({ customisation: 'Be brief.' })).toEqual(['system text', 'system text'])
    expect(await where({ tools: [weather(), slowTool()] })).toEqual(['tools', 'tools'])
    expect(await where({ customisation: 'Be brief.', anySystem: true })).toEqual([undefined, undefined])
  })

  it('that rejects a recorded call diverges at that entry', async () => {
    const { replayAgain } = await recordConversation({ recordPrompts: true })
    const [first] = await replayAgain({ tools: [], anySystem: true })
    expect(first?.divergence && divergenceText(first.divergence)).toMatch(
      /^entry \d+: on record .*react\.tool\.call.*; now .*react\.notice/,
    )
  })

  it('with another budget diverges in the tail, which shows the budget', async () => {
    const { replayAgain } = await recordConversation({ recordPrompts: true })
    const [first] = await replayAgain({ settings: { maxRounds: 9 } })
    expect(first?.divergence).toMatchObject({
      kind: 'prompt',
      where: 'tail',
      recorded: expect.stringMatching(/^15/),
      present: expect.stringMatching(/^9/),
    })
  })

  it('with other cache marks diverges at the block of the mark', async () => {
    const { replayAgain } = await recordConversation({ recordPrompts: true })
    const [, second] = await replayAgain({ settings: { cache: { minRounds: 99, offsetRounds: 4, markUserInput: true } } })
    expect(second?.divergence).toMatchObject({ kind: 'prompt', where: 'marks', block: { id: expect.stringMatching(/^b_/) } })
  })
})

describe('a recorded turn', () => {
  it('is selected by its id, and an unknown id fails with turn.missing', async () => {
    const { harness, replayAgain: _replayAgain } = await recordConversation({ recordPrompts: false })
    const [opened] = (await harness.journal()).filter(({ type }) => type === 'turn.opened')
    const turnId = opened?.type === 'turn.opened' ? opened.turn_id : ''
    expect((await replay(harness.store, harness.conversationId, { tools: [weather()] }, turnId)).map((turn) => turn.turnId)).toEqual([
      turnId,
    ])
    await expect(replay(harness.store, harness.conversationId, {}, 'turn_none')).rejects.toMatchObject({ code: 'turn.missing' })
  })

  it('whose journal lacks an entry is not replayed but reported as torn', async () => {
    const { harness } = await recordConversation({ recordPrompts: false })
    const cut = {
      ...harness.store,
      async *readJournal(...asked: Parameters<typeof harness.store.readJournal>) {
        for await (const entry of harness.store.readJournal(...asked)) if (entry.seq !== 4) yield entry
      },
    }
    expect(await replay(cut, harness.conversationId)).toEqual([1, 2].map(() => ({ turnId: expect.any(String), rounds: 0, torn: true })))
  })

  it('that ran on the system clock replays with the recorded times', async () => {
    const clock = createSystemClock()
    const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
    const replies = [reply.call('weather.today', { city: 'Rome' }), { text: reply.answer('Clear.'), delayMs: 20 }]
    const agent = createAgentFrom({ model: scriptedModel(replies), store, clock, tools: [weather()], settings: { recordPrompts: true } })
    await agent.run('c', 'Rome?').result
    expect(await replay(store, 'c', { tools: [weather()] })).toEqual([{ turnId: expect.any(String), rounds: 2 }])
  })

  it('that another process resumed replays as one turn, and an unfinished turn replays as far as it was recorded', async () => {
    let started = () => {}
    const running = new Promise<void>((resolve) => {
      started = resolve
    })
    const tools = [slowTool({ started: () => started() })]
    const harness = createHarness({ replies: [reply.call('slow.work')], tools })
    harness.agent.run('c1', 'Do it.').result.catch(() => {})
    await running
    await harness.agent.close()
    expect(await replay(harness.store, 'c1', { tools })).toEqual([{ turnId: expect.any(String), rounds: 1 }])
    const next = createHarness({ replies: [reply.answer('Without it, then.')], tools, store: harness.store, clock: harness.clock })
    await next.agent.recover()
    expect(await replay(harness.store, 'c1', { tools })).toEqual([{ turnId: expect.any(String), rounds: 2 }])
  })
})
