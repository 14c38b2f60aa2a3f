import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { contextWithRoom } from '../../../test/support/context-size.ts'
import { library } from '../../../test/support/scenario-tools.ts'
import { type Block, isHidden } from '../../core/block/index.ts'
import { contentTokens } from '../../core/estimate/estimate.ts'
import { roughTokens } from '../../core/estimate/tokens.ts'
import { blocksOf } from '../../core/timeline/timeline.ts'
import { createFixedClock } from '../../testing/fixed-clock.ts'
import { createHarness, type Harness, type HarnessOptions } from '../../testing/harness.ts'
import { type Reply, reply, type ScriptedReply } from '../../testing/scripted-model.ts'
import { defineTool } from '../../tools/define.ts'
import { replay } from '../replay/replay.ts'

const summary = '## Goal\nThe doors.\n\n## Done\nPages were read: the doors are red.'
const page = (number: number, usage?: ScriptedReply['usage']): Reply => ({
  text: reply.call('library.fetch', { page: number }),
  ...(usage && { usage }),
})

const settings = { contextTokens: contextWithRoom(3_900), keepRecentTurns: 1 }

const question = `Which colour? ${'Tell me exactly. '.repeat(200)}`

const createTestHarness = (replies: readonly Reply[], options: Partial<HarnessOptions> = {}) =>
  createHarness({ replies, tools: [library()], settings, ...options })

const compactions = async (harness: Harness) => (await harness.journal()).filter(({ type }) => type === 'range.compacted').length
const roles = ({ model }: Harness) => model.requests.map(({ role }) => role)

describe('a context that reaches its limit', () => {
  it('is compacted when a turn begins, before the model is called', async () => {
    const harness = createTestHarness([page(1), page(2), reply.answer('One and two.'), summary, reply.answer('Red.')])
    await harness.say('Read one and two.')
    expect(await compactions(harness)).toBe(0)
    const { events, answer } = await harness.say(question)
    expect(answer).toBe('Red.')
    expect(await compactions(harness)).toBe(1)
    expect(roles(harness).slice(-2)).toEqual(['compaction', 'decision'])
    expect(events.filter((event) => event.type === 'status').map(({ status }) => status)).toEqual(['compacting', 'deciding'])
    expect(JSON.stringify(harness.model.requests.at(-1)?.parts)).toMatch(/the doors are red.*Which colour\?/)
  })

  it('counts the summary as part of the turn that made it, though it stands before that turn', async () => {
    const harness = createTestHarness([page(1), page(2), reply.answer('One and two.'), summary, reply.answer('Red.')])
    await harness.say('Read one and two.')
    const { turnId } = await harness.say(question)
    const own = blocksOf(await harness.timeline()).filter(({ turn_id }) => turn_id === turnId)
    expect(own.map(({ type }) => type)).toEqual(expect.arrayContaining(['conv.range.summary', 'turn.header']))
    const journal = await harness.journal()
    const closed = journal.findLast((change) => change.type === 'turn.closed')
    // the blocks that were committed together with `turn.closed`
    const last = journal.findLast((change) => change.type === 'blocks.appended')?.blocks.map(({ id }) => id)
    const before = own.filter(({ id }) => !last?.includes(id))
    expect(closed?.tokens).toBe(before.reduce((sum, block) => sum + contentTokens(block, roughTokens), 0))
  })

  it('is compacted in the middle of a turn, which goes on', async () => {
    const harness = createTestHarness([page(1), page(2), page(3), summary, page(4), reply.answer('All red.')])
    const { answer, exitReason } = await harness.say('Read four pages.')
    expect({ answer, exitReason }).toEqual({ answer: 'All red.', exitReason: 'complete' })
    expect(roles(harness)).toContain('compaction')
    const hidden = blocksOf(await harness.timeline()).filter(isHidden)
    expect(hidden.length).toBeGreaterThan(0)
    expect(JSON.stringify(harness.model.requests.at(-1)?.parts)).toMatch(/Read four pages\..*the doors are red/)
  })

  it('stays as it is when the summary fails, and the summary is not requested again in every round', async () => {
    const down: Reply = { error: { kind: 'overloaded', retryable: true } }
    const look = reply.call('react.read', { paths: ['ar:nothing'] })
    const harness = createTestHarness([page(1), page(2), reply.answer('One and two.'), down, look, look, reply.answer('Red.')])
    await harness.say('Read one and two.')
    expect((await harness.say(question)).answer).toBe('Red.')
    expect(await compactions(harness)).toBe(0)
    expect(roles(harness).filter((role) => role === 'compaction')).toHaveLength(1)
  })

  it('calls the hooks before and after a compaction, and gives them the summary', async () => {
    const told: string[] = []
    const report = (said: unknown) => void told.push((said as { status: string }).status)
    const saveSummary = ({ type, text }: Block) => void told.push(`${type}: ${text?.includes('the doors are red')}`)
    const hooks = [{ onBeforeCompaction: report, onAfterCompaction: report, saveSummary }]
    const harness = createTestHarness([page(1), page(2), reply.answer('One and two.'), summary, reply.answer('Red.')], { hooks })
    await harness.say('Read one and two.')
    await harness.say(question)
    expect(told).toEqual(['started', 'conv.range.summary: true', 'completed'])
  })

  it('is compacted earlier when the provider bills more tokens than estimated', async () => {
    const counted = async (uncached: number) => {
      const harness = createTestHarness(
        [page(1), { text: reply.answer('One.'), usage: { uncached } }, reply.answer('Red.'), reply.answer('Red.')],
        {
          settings: { ...settings, contextTokens: contextWithRoom(3_900) },
        },
      )
      await harness.say('Read one.')
      await harness.say('Which colour?')
      return roles(harness).includes('compaction')
    }
    expect(await counted(1_000)).toBe(false)
    expect(await counted(20_000)).toBe(true)
  })

  it('is not counted while it is far below the limit', async () => {
    let counted = 0
    const tokens = (text: string) => {
      counted++
      return Math.ceil(text.length / 4)
    }
    const replies = [
      ...Array.from({ length: 8 }, (_, index) => reply.call('react.read', { paths: [`ar:${index}`] })),
      reply.answer('Done.'),
    ]
    const harness = createHarness({ replies, tokens, settings: { maxRounds: 20 } })
    await harness.say('Look.')
    expect(counted).toBeLessThan(60) // each block is counted once, when the turn is closed, and the system text once
  })
})

describe('a conversation after a long pause', () => {
  it('hides old turns once when the cache has expired, and says so', async () => {
    const turns = Array.from({ length: 9 }, (_, index) => [page(index), reply.answer(`Page ${index} is read.`)]).flat()
    const harness = createTestHarness([...turns, reply.answer('Red.'), reply.answer('Red.')], { settings: { contextTokens: 80_000 } })
    for (let turn = 0; turn < 9; turn++) await harness.say(`Read page ${turn}.`)
    const fresh = blocksOf(await harness.timeline()).filter(isHidden)
    harness.clock.advance(3_600_000)
    await harness.say('Which colour?')
    const hidden = blocksOf(await harness.timeline()).filter(isHidden)
    await harness.say('Sure?')
    expect(fresh).toEqual([])
    expect(hidden.length).toBeGreaterThan(0)
    expect(blocksOf(await harness.timeline()).filter(isHidden)).toHaveLength(hidden.length)
    expect(blocksOf(await harness.timeline()).filter(({ type }) => type === 'system.message')).toHaveLength(1)
  })

  it('hides old turns before the call that wraps up the turn, too', async () => {
    const turns = Array.from({ length: 9 }, (_, index) => [page(index), reply.answer(`Page ${index} is read.`)]).flat()
    const clock = createFixedClock()
    const pause = defineTool({
      id: 'pause.hour',
      description: 'Waits.',
      params: z.object({}),
      run: () => clock.advance(3_600_000) ?? 'done',
    })
    const replies = [...turns, page(9), reply.call('pause.hour'), reply.answer('Red.')]
    const harness = createHarness({ replies, clock, tools: [library(), pause], settings: { maxRounds: 2, contextTokens: 80_000 } })
    for (let turn = 0; turn < 9; turn++) await harness.say(`Read page ${turn}.`)
    const shown = () => JSON.stringify(harness.model.requests.at(-1)?.parts)
    const whole = 'House 0 has a bright red door. '.repeat(180).trim()
    expect(shown()).toContain(whole)
    const { exitReason } = await harness.say('Which colour?')
    expect(exitReason).toBe('max_iterations')
    expect(shown()).not.toContain(whole)
  })
})

it('a compaction that needs two summaries uses the first again when a steer has interrupted the second, and the turn replays', async () => {
  const cut: ScriptedReply = {
    text: 'Second summary.',
    chunks: 8,
    onChunk: (index) => (index === 1 ? harness.agent.steer('c1', 'Hurry.') : undefined),
  }
  const decisions = [reply.answer('Nothing.'), ...[1, 2, 3, 4].map((number) => page(number) as ScriptedReply), reply.answer('All red.')]
  const summaries = ['First summary.', cut, 'Second summary.']
  const next: Reply = ({ role }) => (role === 'compaction' ? summaries : decisions).shift() ?? 'no reply is left'
  const harness: Harness = createTestHarness(Array.from({ length: 12 }, () => next))
  await harness.say(`What is new? ${'Tell me all of it. '.repeat(300)}`)
  expect((await harness.say('Read four pages.')).answer).toBe('All red.')
  const responses = (await harness.journal()).flatMap((change) =>
    change.type === 'response.received' && change.role === 'compaction' ? [[change.raw, change.finish_reason]] : [],
  )
  expect(responses.slice(0, 3)).toEqual([
    ['First summary.', 'stop'],
    ['Second s', 'interrupted'],
    ['Second summary.', 'stop'],
  ])
  const replayed = await replay(harness.store, 'c1', { tools: [library()], settings })
  expect(replayed.flatMap(({ divergence }) => divergence ?? [])).toEqual([])
})
