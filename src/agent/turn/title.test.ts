import { describe, expect, it } from 'vitest'
import { blockTypes } from '../../../test/support/watch-turn.ts'
import { blocksOf } from '../../core/timeline/timeline.ts'
import { createHarness } from '../../testing/harness.ts'
import { answers, type Reply, scriptedModel } from '../../testing/scripted-model.ts'
import { parseTitleResponse } from './title.ts'

const output = (text: string) => `<channel:thinking>A title.</channel:thinking><channel:output>${text}</channel:output>`

/** The gate is served from the script like any call. */
const stageOf = (replies: readonly Reply[]) => createHarness({ replies: [], model: scriptedModel(replies, { title: null }) })

describe('the gate', () => {
  it('loop 17.71: gives a new conversation its title, once, and tells everybody', async () => {
    const stage = stageOf([output('{"conversation_title": "Weather in Rome"}'), answers('Clear.'), answers('Still clear.')])
    const { events } = await stage.say('How is the weather in Rome?')
    await stage.say('And now?')
    expect(stage.model.requests.map(({ role }) => role)).toEqual(['gate', 'decision', 'decision'])
    expect((await stage.timeline()).title).toBe('Weather in Rome')
    expect(events).toContainEqual(expect.objectContaining({ type: 'entry', change: expect.objectContaining({ type: 'title.set' }) }))
    const gate = blocksOf(await stage.timeline()).filter(({ type }) => type === 'stage.gate')
    expect(gate).toMatchObject([{ author: 'gate', text: '[STAGE: GATE OUTPUT]\nconversation_title: Weather in Rome' }])
    expect(gate[0]?.path).toBe(`ar:${gate[0]?.turn_id}.stage.gate`)
  })

  it('leaves the title that a person gave', async () => {
    const stage = stageOf([output('{"conversation_title": "Weather in Rome"}'), answers('Clear.')])
    await stage.agent.archive.create('c1', 'My trip')
    await stage.say('How is the weather in Rome?')
    expect((await stage.timeline()).title).toBe('My trip')
  })

  it('reads the timeline without sources and announce', async () => {
    const stage = stageOf([output('{}'), answers('Clear.')])
    await stage.say('How is the weather in Rome?')
    const [gate] = stage.model.requests
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
  ])('does not hold up the turn when it %s', async (_, reply) => {
    const stage = stageOf([reply, answers('Clear.')])
    const { answer, events } = await stage.say('How is the weather in Rome?')
    expect(answer).toBe('Clear.')
    expect(await blockTypes(stage)).not.toContain('stage.gate')
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
  ])('finds the title in %j', (raw, title) => {
    expect(parseTitleResponse(raw).title).toBe(title)
  })

  it('writes down the questions it marks; the next message resolves them', async () => {
    const asks = output('{"conversation_title": "A trip", "clarification_questions": ["Where to?", "When?"]}')
    const stage = stageOf([asks, answers('Where to, and when?'), answers('Fine.')])
    await stage.say('Plan a trip.')
    await stage.say('To Rome, in May.')
    const stages = blocksOf(await stage.timeline()).filter(({ type }) => type.startsWith('stage.clarification'))
    expect(stages).toMatchObject([
      {
        type: 'stage.clarification',
        text: '[STAGE: CLARIFICATION]\nquestions: Where to? | When?',
        meta: { questions: ['Where to?', 'When?'] },
      },
      { type: 'stage.clarification.resolved' },
    ])
  })

  it('is on the bill like every call of a model', async () => {
    const stage = stageOf([{ text: output('{}'), usage: { uncached: 120, output: 9 } }, answers('Clear.')])
    await stage.say('How is the weather in Rome?')
    const gate = (await stage.journal()).find((change) => change.type === 'response.received' && change.role === 'gate')
    expect(gate).toMatchObject({ usage: { uncached: 120, output: 9 }, prompt: { model: 'scripted' } })
  })
})
