import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { action, answer } from '../../../test/support/decisions/replies.ts'
import { weather } from '../../../test/support/scenario-tools.ts'
import { blockTypes, codesOf, decisions, deltasOf, laneText } from '../../../test/support/watch-turn.ts'
import { createMemoryBlobs } from '../../adapters/blobs/memory.ts'
import { createMemoryStore } from '../../adapters/store/memory/store.ts'
import { type Draft, userPromptBlock } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { blocksOf, blocksOfTurn } from '../../core/timeline/timeline.ts'
import type { ConversationStore } from '../../ports/store.ts'
import { createFixedClock } from '../../testing/fixed-clock.ts'
import { createHarness, type Harness, type HarnessOptions } from '../../testing/harness.ts'
import { type Reply, reply } from '../../testing/scripted-model.ts'
import { defineTool } from '../../tools/define.ts'
import { succeeded } from '../../tools/outcome.ts'

const search = defineTool({
  id: 'web_tools.web_search',
  description: 'Searches.',
  params: z.object({ query: z.string() }),
  run: () =>
    succeeded({
      output: 'found',
      sources: ['a', 'b', 'c'].map((name) => ({ source_type: 'web' as const, title: name.toUpperCase(), url: `https://${name}.example/` })),
    }),
})

const createTestHarness = (replies: readonly Reply[], options: Partial<HarnessOptions> = {}) =>
  createHarness({ replies, tools: [weather(), search], ...options })

const searching = reply.call('web_tools.web_search', { query: 'x' })
const writing = (content: string) => reply.call('react.write', { path: 'files/report.md', channel: 'canvas', content, kind: 'file' })

describe('the record of a turn', () => {
  it('loop 17.80: contains its own blocks only, and the sources that its answers and artifacts cite', async () => {
    const harness = createTestHarness([
      reply.answer('Hello.'),
      searching,
      writing('As [[S:2]] says, and [[S:9]].'),
      reply.answer('See [[S:1]] and [[S:7]].'),
    ])
    await harness.say('Hi.')
    const { turnId, sourcesUsed } = await harness.say('Find it.')
    const log = await harness.store.readTurnLog(harness.conversationId, turnId)
    expect(new Set(log?.blocks.map(({ turn_id }) => turn_id))).toEqual(new Set([turnId]))
    expect(log?.blocks.map(({ type }) => type)).toEqual((await blockTypes(harness)).slice(-(log?.blocks_count ?? 0)))
    expect(log?.sources_used).toEqual([1, 2])
    expect(sourcesUsed).toEqual([1])
    expect(log?.tokens).toBeGreaterThan(0)
    const used = (await harness.timeline()).sources.rows.filter(({ used }) => used).map(({ sid }) => sid)
    expect(used).toEqual([1, 2])
  })

  it('has a notice about cited sources that do not exist, and the user does not see those citations', async () => {
    const harness = createTestHarness([searching, reply.answer('See [[S:1]] and [[S:7]].')])
    const { events, answer } = await harness.say('Find it.')
    expect(laneText(events, 'answer')).toBe('See [A](https://a.example/) and .')
    expect(answer).toBe('See [[S:1]] and .') // without the citation of the source that does not exist
    expect(await codesOf(harness)).toEqual(['protocol_warning.unknown_sources'])
  })

  it('includes the sources of a deferred answer, because the user has read it', async () => {
    const harness = createTestHarness([
      searching,
      { text: reply.answer('First, see [[S:3]].'), onChunk: () => harness.agent.send(harness.conversationId, 'And the other?') },
      reply.answer('Second, see [[S:1]].'),
    ])
    const { turnId } = await harness.say('Find it.')
    expect((await harness.store.readTurnLog(harness.conversationId, turnId))?.sources_used).toEqual([1, 3])
  })

  it('does not contain invalid blocks of a hook, which are reported to the application', async () => {
    const prompt = userPromptBlock('t', '2026-01-01T00:00:00.000Z', 'x')
    for (const junk of [5, [null], [{}], [{ ...prompt, text: 5 }], [{ ...prompt, ts: 'now' }], [{ ...prompt, meta: { n: 1n } }]]) {
      const problems: string[] = []
      const hooks = [{ onBeforeCompletion: () => junk as Draft[] }]
      const harness = createTestHarness([reply.answer('Hello.')], { hooks, onProblem: ({ where }) => problems.push(where) })
      expect(await harness.say('Hi.')).toMatchObject({ exitReason: 'complete', answer: 'Hello.' })
      expect(problems).toEqual(['onBeforeCompletion'])
    }
  })

  it('has the blocks of hooks around its completion, whether the model or a fallback gave it', async () => {
    const hooks = [
      {
        onBeforeCompletion: () => [userPromptBlock('t', '2026-01-01T00:00:00.000Z', 'before')],
        onAfterCompletion: () => [userPromptBlock('t', '2026-01-01T00:00:00.000Z', 'after')],
      },
    ]
    for (const replies of [[reply.answer('Hello.')], ['', '', '']]) {
      const harness = createTestHarness(replies, { hooks })
      await harness.say('Hi.')
      const texts = blocksOf(await harness.timeline())
        .filter(({ type }) => type === 'user.prompt' || type === 'assistant.completion')
        .map(({ type, text }) => (type === 'user.prompt' ? text : type))
      expect(texts).toEqual(['Hi.', 'before', 'assistant.completion', 'after'])
    }
  })

  it('has no blocks of hooks for an answer that was deferred while they ran: hooks are called again for the final answer', async () => {
    for (const slow of ['onBeforeCompletion', 'onAfterCompletion'] as const) {
      const asked: string[] = []
      const hook = (name: string) => async () => {
        asked.push(name)
        const first = asked.filter((each) => each === name).length === 1
        if (first && name === slow) await harness.agent.send(harness.conversationId, 'And B?')
        return [userPromptBlock('t', '2026-01-01T00:00:00.000Z', `${name}, ${first ? 'too early' : 'in time'}`)]
      }
      const hooks = [{ onBeforeCompletion: hook('onBeforeCompletion'), onAfterCompletion: hook('onAfterCompletion') }]
      const harness: Harness = createTestHarness([reply.answer('Here is A.'), reply.answer('And there you have B as well.')], { hooks })
      await harness.say('A?')
      expect(asked.filter((name) => name === slow)).toHaveLength(2)
      const texts = blocksOf(await harness.timeline())
        .filter(({ type }) => type === 'user.prompt' || type === 'assistant.completion')
        .map(({ text }) => text)
      // If the followup arrives during `onBeforeCompletion`, the first call of `onAfterCompletion` is for the final answer.
      const after = slow === 'onAfterCompletion' ? 'in time' : 'too early'
      expect(texts).toEqual([
        'A?',
        'onBeforeCompletion, in time',
        'Here is A.',
        'And there you have B as well.',
        `onAfterCompletion, ${after}`,
      ])
    }
  })

  it('has the answer with its citations as the model wrote them when a shown answer is salvaged', async () => {
    const broken = `<channel:thinking>x</channel:thinking><channel:action>{"action":"complete","notes":[}</channel:action><channel:answer>See [[S:1]].</channel:answer>`
    const harness = createTestHarness([searching, broken])
    const { events } = await harness.say('Find it.')
    expect(laneText(events, 'answer')).toBe('See [A](https://a.example/).')
    expect(blocksOf(await harness.timeline()).at(-1)).toMatchObject({ type: 'assistant.completion', text: 'See [[S:1]].' })
  })
})

describe('an answer that was delivered is not requested again', () => {
  it('unless an event came in since: then the model decides again', async () => {
    const broken = `<channel:thinking>x</channel:thinking><channel:action>{"action":"complete","notes":[}</channel:action><channel:answer>A</channel:answer>`
    const harness = createTestHarness([
      { text: broken, onChunk: () => harness.agent.send(harness.conversationId, 'Wait, also B.') },
      reply.answer('A and B.'),
    ])
    const { answer } = await harness.say('Do A.')
    expect(answer).toBe('A and B.')
    expect(decisions(harness)).toBe(2)
  })

  it('and is kept when its response was invalid and an event came in, which is then answered', async () => {
    const broken =
      '<channel:thinking>x</channel:thinking><channel:action>{"action":"complete"}</channel:action><channel:answer>A.</channel:answer><channel:code>1</channel:code>'
    const harness = createTestHarness([
      { text: broken, onChunk: () => harness.agent.send(harness.conversationId, 'Thanks.') },
      reply.answer('You are welcome.'),
    ])
    const { answer, events } = await harness.say('Do A.')
    expect(answer).toBe('You are welcome.')
    expect(laneText(events, 'answer')).toBe('A.You are welcome.')
    expect(await codesOf(harness)).toEqual(['protocol_violation.code_channel_without_single_exec'])
    expect((await blockTypes(harness)).filter((type) => type.startsWith('assistant.completion'))).toEqual([
      'assistant.completion.attempt',
      'assistant.completion.attempt.outcome',
      'assistant.completion',
      'assistant.completion',
    ])
  })

  it('and a completion that cites only unknown sources counts as empty', async () => {
    const harness = createTestHarness([`${reply.answer('A.')}${action({ action: 'complete' })}`, reply.answer('[[S:99]]')])
    const { answer, events } = await harness.say('Do A.')
    expect([answer, laneText(events, 'answer')]).toEqual(['A.', 'A.'])
  })

  it('unless nothing readable is left of it, with or without watchers', async () => {
    const halves = `${reply.answer('[[S:9').replace(/<channel:followup>.*/s, '')}<channel:answer>9]]</channel:answer>`
    const harness = createTestHarness([halves, reply.answer('A.'), reply.answer('[[S:9]]'), reply.answer('B.')])
    expect((await harness.say('Do A.')).answer).toBe('A.')
    expect((await harness.agent.run(harness.conversationId, 'Do B.').result).answer).toBe('B.')
    expect(await codesOf(harness)).toEqual(['protocol_violation.final_answer_required', 'protocol_violation.final_answer_required'])
  })
})

describe('output that was cut off by the token limit', () => {
  it('inside the content of a file writes nothing, ends the canvas as aborted, and tells the model the field and the limit', async () => {
    const text = writing('A long report. '.repeat(40)).slice(0, 400)
    const harness = createTestHarness([{ text, finish: 'length', chunks: 50 }, reply.answer('Shorter.')])
    const { events } = await harness.say('Write.')
    expect(deltasOf(events, 'canvas').at(-1)?.delta).toMatchObject({ completed: true, aborted: true })
    expect(await blockTypes(harness)).not.toContain('react.tool.call')
    const notice = blocksOf(await harness.timeline()).find(({ type }) => type === 'react.notice')
    expect(JSON.parse(notice?.text ?? '')).toMatchObject({
      code: 'protocol_violation.action_truncated',
      max_tokens: 20_000,
      last_path: 'tool_call.params.content',
      message: expect.stringMatching(/Nothing ran\. The user has already seen a part.*split/),
    })
  })

  it('inside the answer keeps the answer, marks it, and does not call the model again', async () => {
    const text = reply.answer('A long answer that goes on and on').slice(0, -24)
    const harness = createTestHarness([{ text, finish: 'length' }])
    const { answer, truncated, exitReason, events } = await harness.say('Tell me.')
    expect({ answer, truncated, exitReason }).toEqual({ answer: 'A long answer that goes on', truncated: true, exitReason: 'complete' })
    expect(deltasOf(events, 'answer').at(-1)?.delta).toMatchObject({ completed: true, aborted: true })
    expect(blocksOf(await harness.timeline()).at(-1)).toMatchObject({ type: 'assistant.completion', meta: { truncated: true } })
    expect(await codesOf(harness)).toEqual(['protocol_warning.answer_truncated'])
  })
})

describe('loop 17.77: a store that fails', () => {
  /** A store whose appends fail, beginning with the append number `from`, until `mend` is called. */
  function failing(store: ConversationStore, from: number): ConversationStore & { mend(): void } {
    let appends = 0
    let full = true
    return {
      ...store,
      append: (...args) =>
        full && ++appends >= from ? Promise.reject(new Failure('store.failed', 'the disk is full')) : store.append(...args),
      mend: () => {
        full = false
      },
    }
  }

  it.each([1, 2, 3, 4, 5])(
    'at append %i makes the turn fail, keeps what was committed, and the next message continues from there',
    async (from) => {
      const clock = createFixedClock()
      const memory = createMemoryStore({ blobs: createMemoryBlobs(), clock })
      const store = failing(memory, from)
      const call = reply.call('weather.today', { city: 'Rome' })
      const harness = createTestHarness([call, reply.answer('Clear.'), reply.answer('Clear, I said.'), reply.answer('Indeed.')], {
        store,
        clock,
      })
      const turn = harness.agent.run(harness.conversationId, 'Weather?')
      await expect(turn.result).rejects.toThrow('the disk is full')
      const before = await harness.journal()
      expect(before.filter(({ type }) => type === 'turn.closed')).toEqual([])
      store.mend()
      expect(await harness.journal()).toEqual(before)
      const next = await harness.say('Hello?')
      expect(next.exitReason).toBe('complete')
      expect((await harness.journal()).slice(0, before.length)).toEqual(before)
      expect(JSON.stringify(harness.model.requests.at(-1)?.parts)).toMatch(from === 1 ? /Hello\?/ : /Weather\?.*Hello\?/)
    },
  )
})

describe('suggested followups and questions', () => {
  it('have no citations of unknown sources, and are left out when nothing else is in them', async () => {
    const asking = { action: 'exit', clarification_questions: ['Which one [[S:7]]?', '[[S:7]]'] }
    const followups = ['More on A [[S:1]]', 'And B [[S:7]]?', '[[S:7]]', 'Plain']
    const last = `${action(asking)}${answer('As A says [[S:1]].')}<channel:followup>${JSON.stringify({ followups })}</channel:followup>`
    const harness = createTestHarness([searching, last])
    const turn = await harness.say('Find it.')
    const kept = ['More on A [[S:1]]', 'And B ?', 'Plain']
    expect(turn.followups).toEqual(kept)
    const blocks = blocksOfTurn(await harness.timeline(), turn.turnId)
    expect(blocks.find(({ type }) => type === 'stage.suggested_followups')?.meta?.items).toEqual(kept)
    expect(blocks.find(({ type }) => type === 'stage.clarification')?.meta?.questions).toEqual(['Which one ?'])
  })
})
