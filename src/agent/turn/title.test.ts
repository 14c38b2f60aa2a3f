import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createMortalProcess } from '../../../test/support/crash/mortal-store.ts'
import { createReplays } from '../../../test/support/replay-all.ts'
import { blockTypes } from '../../../test/support/watch-turn.ts'
import { createMemoryBlobs } from '../../adapters/blobs/memory.ts'
import { createMemoryStore } from '../../adapters/store/memory/store.ts'
import { blocksOf, emptyTimeline } from '../../core/timeline/timeline.ts'
import { LEASE_MS } from '../../ports/store.ts'
import { createFixedClock } from '../../testing/fixed-clock.ts'
import { createHarness as createPlainHarness, type Harness, type HarnessOptions } from '../../testing/harness.ts'
import { type Reply, reply, scriptedModel } from '../../testing/scripted-model.ts'
import { defineTool } from '../../tools/define.ts'
import type { Problem } from '../agent-context.ts'
import type { AgentSettings } from '../settings.ts'
import { parseTitleResponse } from './title.ts'

const output = (text: string) => `<channel:thinking>A title.</channel:thinking><channel:output>${text}</channel:output>`

const replays = createReplays()
afterEach(replays.expectSame)

function createHarness(options: HarnessOptions): Harness {
  const harness = createPlainHarness(options)
  replays.note({ ...options, store: harness.store })
  return harness
}

/** The replies are also used for the title call. */
const createTestHarness = (replies: readonly Reply[]) => createHarness({ replies: [], model: scriptedModel(replies, { title: null }) })

describe('the title call', () => {
  it('enters the blocks of the title once, if the round fails after it has committed them', async () => {
    const fixed = createFixedClock()
    let fails = false
    const clock = {
      ...fixed,
      now() {
        if (!fails) return fixed.now()
        fails = false
        throw new Error('the clock is broken')
      },
    }
    const harness = createPlainHarness({
      clock,
      replies: [],
      model: scriptedModel([output('{"conversation_title": "Rome"}'), reply.call('demo.look')], { title: null }),
      tools: [
        defineTool({
          id: 'demo.look',
          description: 'Looks.',
          params: z.object({}),
          run() {
            fails = true
            return 'Seen.'
          },
        }),
      ],
    })
    expect(await harness.agent.run('c1', 'How is Rome?').result).toMatchObject({
      exitReason: 'error',
      error: new Error('the clock is broken'),
    })
    const blocks = blocksOf(await harness.timeline())
    expect(blocks.filter(({ type }) => type === 'stage.gate')).toHaveLength(1)
    expect(new Set(blocks.map(({ id }) => id)).size).toBe(blocks.length)
  })

  it('loop 17.71: gives a new conversation its title, once, and publishes it', async () => {
    const harness = createTestHarness([
      output('{"conversation_title": "Weather in Rome"}'),
      reply.answer('Clear.'),
      reply.answer('Still clear.'),
    ])
    const { events } = await harness.say('How is the weather in Rome?')
    await harness.say('And now?')
    expect(harness.model.requests.map(({ role }) => role)).toEqual(['gate', 'decision', 'decision'])
    expect((await harness.timeline()).title).toBe('Weather in Rome')
    expect(events).toContainEqual(expect.objectContaining({ type: 'entry', change: expect.objectContaining({ type: 'title.set' }) }))
    const gate = blocksOf(await harness.timeline()).filter(({ type }) => type === 'stage.gate')
    expect(gate).toMatchObject([{ author: 'gate', text: '[STAGE: GATE OUTPUT]\nconversation_title: Weather in Rome' }])
    expect(gate[0]?.path).toBe(`ar:${gate[0]?.turn_id}.stage.gate`)
  })

  it('keeps a title set by the user', async () => {
    const harness = createTestHarness([output('{"conversation_title": "Weather in Rome"}'), reply.answer('Clear.')])
    await harness.agent.archive.create('c1', 'My trip')
    await harness.say('How is the weather in Rome?')
    expect((await harness.timeline()).title).toBe('My trip')
  })

  it('gets the timeline without sources and ANNOUNCE', async () => {
    const harness = createTestHarness([output('{}'), reply.answer('Clear.')])
    await harness.say('How is the weather in Rome?')
    const [gate] = harness.model.requests
    expect(JSON.stringify(gate?.parts)).toMatch(/How is the weather in Rome\?/)
    expect(JSON.stringify(gate?.parts)).not.toMatch(/ANNOUNCE|SOURCES POOL/)
    expect(gate).toMatchObject({ maxTokens: 800, temperature: 0.2 })
  })

  it.each<[string, Reply]>([
    ['says nothing', ''],
    ['fails', { error: { kind: 'overloaded', retryable: true } }],
    ['has nothing to name', output('{"conversation_title": null}')],
    ['breaks the protocol', 'Certainly! Here is a title for you.'],
    [
      'throws',
      () => {
        throw new TypeError('a bug in the adapter')
      },
    ],
  ])('does not fail the turn when the model %s', async (_, modelReply) => {
    const harness = createTestHarness([modelReply, reply.answer('Clear.')])
    const { answer, events } = await harness.say('How is the weather in Rome?')
    expect(answer).toBe('Clear.')
    expect(await blockTypes(harness)).not.toContain('stage.gate')
    expect(events.filter((event) => event.type === 'entry').map(({ change }) => change.type)).not.toContain('title.set')
  })

  it.each([
    [output('{"conversation_title": "A, B"}'), 'A, B'],
    [output('```json\n{"conversation_title": "  Two\\n words "}\n```'), 'Two words'],
    ['{"conversation_title": "Outside of any channel"}', 'Outside of any channel'],
    [output(JSON.stringify({ conversation_title: 'x'.repeat(200) })), 'x'.repeat(120)],
    [output('{"conversation_title": 7}'), undefined],
    [output('{"conversation_title": " "}'), undefined],
    ['', undefined],
  ])('reads the title from %j', (raw, title) => {
    expect(parseTitleResponse(raw).title).toBe(title)
  })

  it('records clarification questions, which the next message resolves', async () => {
    const asks = output('{"conversation_title": "A trip", "clarification_questions": ["Where to?", "When?"]}')
    const harness = createTestHarness([asks, reply.answer('Where to, and when?'), reply.answer('Fine.')])
    await harness.say('Plan a trip.')
    await harness.say('To Rome, in May.')
    const stages = blocksOf(await harness.timeline()).filter(({ type }) => type.startsWith('stage.clarification'))
    expect(stages).toMatchObject([
      {
        type: 'stage.clarification',
        text: '[STAGE: CLARIFICATION]\nquestions: Where to? | When?',
        meta: { questions: ['Where to?', 'When?'] },
      },
      { type: 'stage.clarification.resolved' },
    ])
  })

  it('is asked beside the first decision, which does not wait for it', async () => {
    const decisionAsked = Promise.withResolvers<void>()
    const harness = createTestHarness([
      { text: output('{"conversation_title": "Rome"}'), onChunk: () => decisionAsked.promise },
      () => {
        decisionAsked.resolve()
        return reply.answer('Clear.')
      },
    ])
    expect((await harness.say('How is Rome?')).answer).toBe('Clear.')
    expect((await harness.timeline()).title).toBe('Rome')
    expect(await blockTypes(harness)).toEqual(['turn.header', 'user.prompt', 'stage.gate', 'react.thinking', 'assistant.completion'])
  })

  it('is stored while a tool runs, and the model reads it after the result', async () => {
    const toolStarted = Promise.withResolvers<void>()
    const harness = createHarness({
      replies: [],
      model: scriptedModel(
        [
          { text: output('{"conversation_title": "Rome"}'), onChunk: () => toolStarted.promise },
          reply.call('demo.look'),
          reply.answer('Clear.'),
        ],
        { title: null },
      ),
      tools: [
        defineTool({
          id: 'demo.look',
          description: 'Looks.',
          params: z.object({}),
          async run() {
            toolStarted.resolve()
            await expect.poll(async () => (await harness.timeline()).title).toBe('Rome')
            return 'Seen.'
          },
        }),
      ],
    })
    await harness.say('How is Rome?')
    const types = await blockTypes(harness)
    expect(types.slice(types.lastIndexOf('react.tool.result'))).toEqual([
      'react.tool.result',
      'stage.gate',
      'react.thinking',
      'assistant.completion',
    ])
    expect(JSON.stringify(harness.model.requests[1]?.parts)).not.toMatch(/conversation_title/)
    expect(JSON.stringify(harness.model.requests[2]?.parts)).toMatch(/conversation_title: Rome/)
  })

  it('is left out if it does not come in time: the answer is stored before the wait, and no response of the title', async () => {
    const harness = createHarness({
      replies: [],
      model: scriptedModel([{ text: output('{"conversation_title": "Rome"}'), stall: true }, reply.answer('Clear.')], { title: null }),
      settings: { titleWaitMs: 20 },
    })
    const { answer, exitReason } = await harness.say('How is Rome?')
    expect({ answer, exitReason }).toEqual({ answer: 'Clear.', exitReason: 'complete' })
    const journal = await harness.journal()
    expect(journal.filter((change) => change.type === 'response.received').map(({ role }) => role)).toEqual([undefined])
    expect((await harness.timeline()).title).toBeUndefined()
  })

  it('goes on when a steer interrupts the first decision', async () => {
    const steered = Promise.withResolvers<void>()
    const harness: Harness = createHarness({
      replies: [],
      model: scriptedModel(
        [
          { text: output('{"conversation_title": "Rome"}'), onChunk: () => steered.promise },
          {
            text: reply.answer('Clear.'),
            stall: true,
            onChunk: () => harness.agent.steer('c1', 'Shorter!').then(() => steered.resolve()),
          },
          reply.answer('Yes.'),
        ],
        { title: null },
      ),
    })
    expect((await harness.say('How is Rome?')).answer).toBe('Yes.')
    expect((await harness.timeline()).title).toBe('Rome')
  })

  it('is not waited for when the user stops the turn', async () => {
    const harness: Harness = createHarness({
      replies: [],
      model: scriptedModel(
        [
          { text: output('{"conversation_title": "Rome"}'), stall: true },
          { text: reply.answer('Clear.'), stall: true, onChunk: () => harness.agent.steer('c1', '') },
        ],
        { title: null },
      ),
      settings: { titleWaitMs: 600_000 },
    })
    expect((await harness.say('How is Rome?')).exitReason).toBe('steer')
    expect((await harness.timeline()).title).toBeUndefined()
  })

  it('is journaled with its usage like every model call', async () => {
    const harness = createTestHarness([{ text: output('{}'), usage: { uncached: 120, output: 9 } }, reply.answer('Clear.')])
    await harness.say('How is the weather in Rome?')
    const gate = (await harness.journal()).find((change) => change.type === 'response.received' && change.role === 'gate')
    expect(gate).toMatchObject({ usage: { uncached: 120, output: 9 }, prompt: { model: 'scripted' } })
  })
})

describe('the title of a turn that another process resumes', () => {
  it('is not asked again if the journal has the response: only its block is made', async () => {
    const clock = createFixedClock()
    const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
    const dying = createHarness({
      store,
      clock,
      replies: [],
      model: scriptedModel([output('{"conversation_title": "Rome"}'), { text: '', stall: true }], { title: null }),
    })
    const turn = dying.agent.run('c1', 'How is Rome?')
    await expect.poll(async () => (await dying.timeline()).title).toBe('Rome')
    await dying.agent.close()
    await turn.result
    const next = createHarness({ store, clock, replies: [reply.answer('Clear.')] })
    await next.agent.recover()
    expect(next.model.requests.map(({ role }) => role)).toEqual(['decision'])
    expect(await blockTypes(next)).toEqual(['turn.header', 'user.prompt', 'stage.gate', 'react.thinking', 'assistant.completion'])
  })

  it.each<[string, string, readonly string[]]>([
    ['followup', 'And Milan?', ['user.followup', 'stage.gate', 'react.thinking', 'assistant.completion']],
    ['stop', '', ['user.steer', 'stage.gate', 'assistant.completion']],
  ])('is entered alone if the process died after it had read a %s, and is replayed so', async (kind, text, types) => {
    const clock = createFixedClock()
    const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
    const mortal = createMortalProcess(store)
    const events = Promise.withResolvers<void>()
    const look = defineTool({
      id: 'demo.look',
      description: 'Looks.',
      params: z.object({}),
      run: () => (kind === 'stop' ? dying.agent.steer('c1', text) : dying.agent.send('c1', text)).then(() => 'Seen.'),
    })
    const dying: Harness = createPlainHarness({
      store: mortal.store,
      clock,
      replies: [],
      model: scriptedModel(
        [
          { text: output('{"conversation_title": "Rome"}'), onChunk: () => events.promise },
          reply.call('demo.look'),
          { text: '', stall: true },
        ],
        { title: null },
      ),
      tools: [look],
      hooks: [{ onBeforeCompletion: () => new Promise<never>(() => {}) }],
    })
    dying.agent.run('c1', 'How is Rome?').result.catch(() => {})
    const read = async () => (await store.loadVisible('c1'))?.timeline
    await expect.poll(async () => blocksOf((await read()) ?? emptyTimeline()).at(-1)?.type).toBe(types[0])
    events.resolve()
    await expect.poll(async () => (await read())?.title).toBe('Rome')
    mortal.kill()
    clock.advance(LEASE_MS + 1)
    const next = createHarness({ store, clock, replies: [reply.answer('Clear.')], tools: [look] })
    await next.agent.recover()
    expect((await blockTypes(next)).slice(-types.length)).toEqual(types)
  })

  it('is asked again if the agent was closed while the model wrote it', async () => {
    const clock = createFixedClock()
    const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
    const stalls = { text: '<channel:', stall: true } as const
    const dying = createHarness({ store, clock, replies: [], model: scriptedModel([stalls, stalls], { title: null }) })
    const turn = dying.agent.run('c1', 'How is Rome?')
    await expect.poll(() => dying.model.requests.length).toBe(2)
    await dying.agent.close()
    await turn.result
    expect((await dying.journal()).filter(({ type }) => type === 'response.received')).toEqual([])
    const next = createHarness({ store, clock, replies: [reply.answer('Clear.')] })
    await next.agent.recover()
    expect(next.model.requests.map(({ role }) => role).sort()).toEqual(['decision', 'gate'])
    expect((await next.timeline()).title).toBe('A scripted conversation')
  })
})

describe('the setting `title`', () => {
  const titled = async (title: AgentSettings['title'], text: string) => {
    const problems: Problem[] = []
    const harness = createHarness({
      replies: [reply.answer('Clear.')],
      settings: { title },
      onProblem: (problem) => problems.push(problem),
    })
    await harness.say(text)
    expect(harness.model.requests.map(({ role }) => role)).toEqual(['decision'])
    return { title: (await harness.timeline()).title, problems: problems.map(({ where, error }) => `${where}: ${error}`) }
  }
  const long = 'Which of the three cities in the north has the most rain between March and June?'

  it.each<[string, AgentSettings['title'], string, string | undefined]>([
    ['false: no title', false, 'How is Rome?', undefined],
    ['first-words: a short message', 'first-words', ' How is\n Rome? ', 'How is Rome?'],
    ['first-words: a long message', 'first-words', long, 'Which of the three cities in the north has the most rain…'],
    ['first-words: a message without spaces', 'first-words', 'x'.repeat(100), `${'x'.repeat(59)}…`],
    ['a function', (text) => `About ${text.length}\ncharacters`, 'Rome', 'About 4 characters'],
  ])('%s', async (_, setting, text, title) => {
    expect(await titled(setting, text)).toEqual({ title, problems: [] })
  })

  it('reports a function that throws or returns no text, and leaves the title out', async () => {
    const throwing = () => {
      throw new RangeError('too short')
    }
    expect(await titled(throwing, 'Rome')).toEqual({ title: undefined, problems: ['title: RangeError: too short'] })
    expect(await titled((() => 7) as never, 'Rome')).toEqual({
      title: undefined,
      problems: ['title: TypeError: the setting `title` must return a text, not number'],
    })
  })

  it('keeps a title that the user has set', async () => {
    const harness = createHarness({ replies: [reply.answer('Clear.')], settings: { title: 'first-words' } })
    await harness.agent.archive.create('c1', 'My trip')
    await harness.say('How is Rome?')
    expect((await harness.timeline()).title).toBe('My trip')
  })
})
