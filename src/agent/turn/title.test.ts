import { describe, expect, it } from 'vitest'
import { blockTypes } from '../../../test/support/watch-turn.ts'
import { blocksOf } from '../../core/timeline/timeline.ts'
import { createHarness } from '../../testing/harness.ts'
import { type Reply, reply, scriptedModel } from '../../testing/scripted-model.ts'
import { parseTitleResponse } from './title.ts'

const output = (text: string) => `<channel:thinking>A title.</channel:thinking><channel:output>${text}</channel:output>`

/** The replies are also used for the title call. */
const createTestHarness = (replies: readonly Reply[]) => createHarness({ replies: [], model: scriptedModel(replies, { title: null }) })

describe('the title call', () => {
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

  it('is journaled with its usage like every model call', async () => {
    const harness = createTestHarness([{ text: output('{}'), usage: { uncached: 120, output: 9 } }, reply.answer('Clear.')])
    await harness.say('How is the weather in Rome?')
    const gate = (await harness.journal()).find((change) => change.type === 'response.received' && change.role === 'gate')
    expect(gate).toMatchObject({ usage: { uncached: 120, output: 9 }, prompt: { model: 'scripted' } })
  })
})
