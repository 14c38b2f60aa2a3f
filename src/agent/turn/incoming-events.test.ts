import { describe, expect, it } from 'vitest'
import { pausedTool, slowTool, weather } from '../../../test/support/scenario-tools.ts'
import {
  answered,
  decisions,
  entryOfType,
  runTurnWith,
  sendWith,
  steerWith,
  stopTurn,
  toolStarted,
} from '../../../test/support/watch-turn.ts'
import { createMemoryBlobs } from '../../adapters/blobs/memory.ts'
import { createMemoryStore } from '../../adapters/store/memory/store.ts'
import { blocksOf } from '../../core/timeline/timeline.ts'
import type { ConversationStore } from '../../ports/store.ts'
import { createFixedClock } from '../../testing/fixed-clock.ts'
import { createHarness, type Harness } from '../../testing/harness.ts'
import { reply, scriptedModel } from '../../testing/scripted-model.ts'
import type { FoldedEvent } from '../hooks.ts'

const conversationId = 'c1'
const foldedIds = async (harness: Harness) =>
  (await harness.journal()).flatMap((change) => (change.type === 'event.folded' ? change.event_ids.map((id) => [id, change.turn_id]) : []))
const texts = async (harness: Harness, type: string) =>
  blocksOf(await harness.timeline()).flatMap((block) => (block.type === type ? [block.text] : []))
const announced = ({ model }: Harness) => JSON.stringify(model.requests.at(-1)?.parts.at(-1))

describe('the grace period after an answer', () => {
  it('is not ended by events that need no answer', async () => {
    const harness = createHarness({ replies: [reply.answer('One.'), reply.answer('Both.')], settings: { exitGraceMs: 10_000 } })
    const late = async ({ agent }: Harness) => {
      await agent.notify(conversationId, 'The disk is half full.')
      await agent.steer(conversationId, 'Too late.', { turnId: 'turn_of_yesterday' })
      await new Promise(setImmediate)
      await agent.send(conversationId, 'Second.')
    }
    const said = await runTurnWith(harness, 'First.', { when: answered, act: late }, { when: answered, act: stopTurn })
    expect(said.answer).toBe('Both.')
    expect(await texts(harness, 'user.followup')).toEqual(['Second.'])
  })
})

describe('a followup', () => {
  it('is made of the second of two concurrent messages: one turn, and both callers get its result', async () => {
    const harness = createHarness({ replies: [reply.answer('One.'), reply.answer('Both.')], settings: { exitGraceMs: 5 } })
    const run = (input: string) => harness.agent.run(conversationId, input).result
    const [first, second] = await Promise.all([run('First.'), run('Second.')])
    expect(second).toEqual(first)
    expect(await texts(harness, 'user.prompt')).toEqual(['First.'])
    expect(await texts(harness, 'user.followup')).toEqual(['Second.'])
  })

  it('becomes the next turn when it comes after the close, and each caller gets the result of its own turn', async () => {
    const harness = createHarness({ replies: [reply.answer('One.'), reply.answer('Two.')] })
    const second: Promise<unknown>[] = []
    const first = await runTurnWith(harness, 'First.', {
      when: entryOfType('turn.closed'),
      act: async () => void second.push(harness.agent.run(conversationId, 'Second.').result),
    })
    expect(first.answer).toBe('One.')
    expect(await second[0]).toMatchObject({ answer: 'Two.' })
    expect(await texts(harness, 'user.prompt')).toEqual(['First.', 'Second.'])
    expect((await harness.timeline()).inbox).toEqual([])
  })

  it('that becomes the next turn is not in the events of this one', async () => {
    const harness = createHarness({ tools: [slowTool()], replies: [reply.call('slow.work'), reply.answer('Two.')] })
    const { events, turnId } = await runTurnWith(harness, 'First.', {
      when: toolStarted,
      act: async ({ agent }) => {
        const stopping = agent.stop(conversationId)
        await agent.send(conversationId, 'Second.')
        await stopping
      },
    })
    await harness.agent.drain(5_000)
    expect(events.at(-1)).toMatchObject({ type: 'entry', change: { type: 'turn.closed', turn_id: turnId } })
    expect(await texts(harness, 'user.prompt')).toEqual(['First.', 'Second.'])
  })

  it('waits for the next turn when it comes after a stop, and so do later ones', async () => {
    const harness = createHarness({ tools: [slowTool()], replies: [reply.call('slow.work'), reply.answer('Both.')] })
    const said: Promise<unknown>[] = []
    const say = (input: string) => void said.push(harness.agent.run(conversationId, input).result)
    await runTurnWith(harness, 'First.', {
      when: toolStarted,
      act: async ({ agent }) => {
        const stopping = agent.stop(conversationId)
        say('Second.')
        say('Third.')
        await stopping
      },
    })
    expect(await Promise.all(said)).toMatchObject([{ answer: 'Both.' }, { answer: 'Both.' }])
    expect(await texts(harness, 'user.prompt')).toEqual(['First.', 'Second.'])
    expect(await texts(harness, 'user.followup')).toEqual(['Third.'])
  })

  it('is part of the turn that is stopped right after it, even when that turn can not be deferred', async () => {
    for (const replies of [
      [reply.call('weather.today', { city: 'Rome' }), reply.answer('Clear.')],
      ['<channel:answer>no', '<channel:answer>no', '<channel:answer>no'],
    ]) {
      let said = false
      const onBeforeCompletion = async () => {
        if (said) return []
        said = true
        await harness.agent.send(conversationId, 'And Oslo?')
        await harness.agent.stop(conversationId)
        return []
      }
      const settings = { maxRounds: replies.length === 2 ? 1 : 15 }
      const harness: Harness = createHarness({
        tools: [weather()],
        replies: [...replies, reply.answer('Never.')],
        settings,
        hooks: [{ onBeforeCompletion }],
      })
      const { answer, turnId } = await harness.say('How is Rome?')
      await harness.agent.drain(5_000)
      expect(answer).toMatch(/^(Clear\.$|I could not)/)
      expect(await texts(harness, 'user.followup')).toEqual(['And Oslo?'])
      expect(new Set((await foldedIds(harness)).map(([, by]) => by))).toEqual(new Set([turnId]))
      expect(harness.model.left).toBe(1)
    }
  })

  it('with an event id starts one turn, however often it is sent', async () => {
    const harness = createHarness({ replies: [reply.answer('One.'), reply.answer('never asked for')] })
    const send = () => harness.agent.send(conversationId, 'Hello.', { eventId: 'e1' })
    await Promise.all([send(), send()])
    await harness.agent.follow(conversationId)[Symbol.asyncIterator]().next()
    await send()
    await until(async () => (await harness.timeline()).openTurn === undefined && (await harness.timeline()).size > 0)
    await send()
    expect(await texts(harness, 'user.prompt')).toEqual(['Hello.'])
    expect(await texts(harness, 'user.followup')).toEqual([])
    expect(harness.model.left).toBe(1)
  })

  it('is accepted with the id of the turn that is running now', async () => {
    const harness = createHarness({
      replies: [reply.answer('One.'), { text: reply.answer('Two.'), chunks: 4, delayMs: 1 }, reply.answer('Three.')],
    })
    await runTurnWith(harness, 'First.', { when: entryOfType('turn.closed'), act: sendWith('Second.') })
    const opened = async () => (await harness.journal()).flatMap((change) => (change.type === 'turn.opened' ? [change.turn_id] : []))
    await until(async () => (await opened()).length === 2)
    const { how, turnId } = await harness.agent.send(conversationId, 'Third.')
    expect({ how, turnId }).toEqual({ how: 'followup', turnId: (await opened())[1] })
    await harness.agent.drain(5_000)
  })

  it('resolves the open questions of its own turn; the next message resolves nothing', async () => {
    const gate = '<channel:thinking>x</channel:thinking><channel:output>{"clarification_questions":["Which Rome?"]}</channel:output>'
    const model = scriptedModel([gate, reply.answer('Which Rome?'), reply.answer('Clear.'), reply.answer('Bye.')], { title: null })
    const harness = createHarness({ replies: [], model, settings: { exitGraceMs: 10_000 } })
    await runTurnWith(harness, 'The weather in Rome?', { when: answered, act: sendWith('In Italy.') }, { when: answered, act: stopTurn })
    await runTurnWith(harness, 'Thanks.', { when: answered, act: stopTurn })
    const types = blocksOf(await harness.timeline()).map(({ type }) => type)
    expect(types.filter((type) => /^user|clarification/.test(type))).toEqual([
      'user.prompt',
      'stage.clarification',
      'user.followup',
      'stage.clarification.resolved',
      'user.prompt',
    ])
  })

  it('defers an answer without calling completion hooks: they run once, for the final answer', async () => {
    const asked: string[] = []
    const hook = (name: string) => () => {
      asked.push(name)
      return []
    }
    const hooks = [{ onBeforeCompletion: hook('before'), onAfterCompletion: hook('after') }]
    const harness = createHarness({
      replies: [{ text: reply.answer('One.'), onChunk: () => sendWith('Second.')(harness) as Promise<void> }, reply.answer('Two.')],
      hooks,
    })
    expect(await harness.say('First.')).toMatchObject({ answer: 'Two.' })
    expect(asked).toEqual(['before', 'after'])
  })

  it('is given to onExternalEvent with the blocks made of it', async () => {
    const told: unknown[] = []
    const onExternalEvent = ({ type, event, blocks }: FoldedEvent) =>
      void told.push([type, event.text, blocks.map((block) => [block.type, block.text?.split('\n').at(-1)])])
    const harness = createHarness({ replies: [reply.answer('One.'), reply.answer('Two.')], hooks: [{ onExternalEvent }] })
    await runTurnWith(harness, 'First.', { when: answered, act: sendWith('Second.') })
    expect(told).toEqual([['followup', 'Second.', [['user.followup', 'Second.']]]])
  })

  it('adds no more rounds than creditCap allows', async () => {
    const harness = createHarness({ replies: [reply.answer('One.'), reply.answer('Two.')], settings: { creditCap: 0 } })
    await runTurnWith(harness, 'First.', { when: answered, act: sendWith('Second.') })
    expect(announced(harness)).not.toContain('bonus')
    expect(() => createHarness({ replies: [], settings: { creditCap: Number.NaN } })).toThrow(RangeError)
  })

  it('is not changed by a hook that modifies its argument', async () => {
    const onExternalEvent = ({ event }: FoldedEvent) => void Object.assign(event, { text: 'Something else.', kind: 'steer' })
    const harness = createHarness({ replies: [reply.answer('One.'), reply.answer('Two.')], hooks: [{ onExternalEvent }] })
    await runTurnWith(harness, 'First.', { when: answered, act: sendWith('Second.') })
    const accepted = (await harness.journal()).flatMap((change) => (change.type === 'event.accepted' ? [change.event] : []))
    expect(accepted).toMatchObject([{ kind: 'followup', text: 'Second.' }])
    expect(announced(harness)).toContain('Second.')
    expect(announced(harness)).toContain('bonus') // the followup has added a round
  })

  it('must have an event id that is valid in a path', async () => {
    const harness = createHarness({ replies: [] })
    await expect(harness.agent.send(conversationId, 'x', { eventId: 'a/b' })).rejects.toThrow(RangeError)
    await expect(harness.agent.steer(conversationId, 'x', { eventId: '' })).rejects.toThrow(RangeError)
  })

  it('loop 17.98: is taken in by its sequence number, whatever the order of delivery', async () => {
    const harness = createHarness({ replies: [reply.answer('All read.')] })
    const claim = await harness.store.claim(conversationId, { id: 'o', host: 'elsewhere', pid: 1 })
    const event = (sequence: number) => ({
      event_id: `e${sequence}`,
      sequence,
      kind: 'external' as const,
      ts: harness.clock.now(),
      text: `${sequence}`,
    })
    await harness.store.append(
      claim,
      [2, 3, 1].map((sequence) => ({ type: 'event.accepted' as const, event: event(sequence) })),
    )
    await harness.store.release(claim)
    await harness.say('What is new?')
    expect(await texts(harness, 'event.external')).toEqual(['1', '2', '3'])
  })
})

describe('extra rounds', () => {
  const work = pausedTool()
  async function during(act: (harness: Harness) => Promise<unknown>): Promise<string> {
    const harness = createHarness({
      tools: [work.tool],
      replies: [reply.call('paused.work'), reply.answer('Done.')],
      settings: { maxRounds: 3 },
    })
    await runTurnWith(harness, 'Do it.', {
      when: toolStarted,
      act: async () => {
        await act(harness)
        work.finish()
      },
    })
    return /Iteration \d+\/\d+/.exec(announced(harness))?.[0] ?? ''
  }

  it('loop 17.97: are granted for a followup and a reactive event, but not for a steer or another event', async () => {
    expect(await during(({ agent }) => agent.send(conversationId, 'And?'))).toBe('Iteration 2/4')
    expect(await during(({ agent }) => agent.notify(conversationId, 'Down!', { reactive: true }))).toBe('Iteration 2/4')
    expect(await during(({ agent }) => agent.notify(conversationId, 'Slow.'))).toBe('Iteration 2/3')
    expect(await during(({ agent }) => agent.steer(conversationId, 'Shorter.'))).toBe('Iteration 2/3')
  })

  it('are granted once for an event, and never more than maxRounds in total', async () => {
    const twice = async ({ agent }: Harness) => {
      await agent.send(conversationId, 'And?', { eventId: 'e1' })
      await agent.send(conversationId, 'And?', { eventId: 'e1' })
    }
    expect(await during(twice)).toBe('Iteration 2/4')
    const often = async ({ agent }: Harness) => {
      for (let n = 0; n < 10; n++) await agent.send(conversationId, 'And?')
    }
    expect(await during(often)).toBe('Iteration 2/6')
  })
})

describe('an answer', () => {
  it('is deferred by a reactive event, but not by another external event', async () => {
    const harness = (replies: readonly string[]) => createHarness({ replies, settings: { exitGraceMs: 20 } })
    const waiting = harness([reply.answer('One.'), reply.answer('Two.')])
    const notify = (reactive: boolean) => ({
      when: answered,
      act: ({ agent }: Harness) => agent.notify(conversationId, 'Down!', { reactive }),
    })
    expect((await runTurnWith(waiting, 'Go.', notify(true))).answer).toBe('Two.')
    const going = harness([reply.answer('One.'), reply.answer('never asked for')])
    expect((await runTurnWith(going, 'Go.', notify(false))).answer).toBe('One.')
    expect((await going.timeline()).inbox).toHaveLength(1) // the event waits for the next turn
  })

  it('that is deferred more than once is recorded each time, in order', async () => {
    const harness = createHarness({
      replies: [reply.answer('One.'), reply.answer('Two.'), reply.answer('Three.')],
      settings: { exitGraceMs: 20 },
    })
    await runTurnWith(harness, 'Go.', { when: answered, act: sendWith('And?') }, { when: answered, act: sendWith('And then?') })
    const completions = blocksOf(await harness.timeline()).filter(({ type }) => type === 'assistant.completion')
    expect(
      completions.map(({ text, path, meta }) => [
        text,
        path?.split('.').slice(1).join('.'),
        meta?.completion_index,
        meta?.completion_count,
      ]),
    ).toEqual([
      ['One.', 'assistant.completion.1', 1, 3],
      ['Two.', 'assistant.completion.2', 2, 3],
      ['Three.', 'assistant.completion', 3, 3],
    ])
  })

  it('is deferred by a late followup during a wrap-up, too, and the wrap-up ends', async () => {
    const harness = createHarness({
      tools: [slowTool()],
      replies: [reply.call('slow.work'), reply.answer('As far as I came.'), reply.answer('And that, too.')],
      settings: { exitGraceMs: 20 },
    })
    const wrapUp = { when: toolStarted, act: steerWith('Wrap up.', { mode: 'wrap_up' }) }
    const { exitReason, answer } = await runTurnWith(harness, 'Go.', wrapUp, { when: answered, act: sendWith('And that?') })
    expect([exitReason, answer]).toEqual(['complete', 'And that, too.'])
  })
})

describe('a wrap-up', () => {
  const wrapUp = { when: toolStarted, act: steerWith('Wrap up.', { mode: 'wrap_up' }) }
  const write = reply.call('react.write', { path: 'files/a.md', channel: 'canvas', content: 'a', kind: 'file' })

  it('loop 17.92: lasts at most two rounds, invalid responses included', async () => {
    const harness = createHarness({
      tools: [slowTool()],
      replies: [reply.call('slow.work'), 'Sure, I', write, reply.answer('never asked for')],
    })
    const { exitReason, answer } = await runTurnWith(harness, 'Go.', wrapUp)
    expect(exitReason).toBe('steer')
    expect(answer).toMatch(/^I stopped as you asked/)
    expect(decisions(harness)).toBe(3)
  })
})

describe('a steer', () => {
  it('that comes while its turn is being closed is not accepted and leaves no entry', async () => {
    const inner = createMemoryStore({ blobs: createMemoryBlobs(), clock: createFixedClock() })
    let accepted: ReturnType<typeof harness.agent.steer> | undefined
    const store: ConversationStore = {
      ...inner,
      async append(claim, changes) {
        const entries = await inner.append(claim, changes)
        if (changes.some(({ type }) => type === 'turn.closed')) accepted ??= harness.agent.steer(conversationId, 'Shorter.')
        await new Promise((resolve) => setTimeout(resolve, 5)) // so that the steer arrives before the close is applied
        return entries
      },
    }
    const harness = createHarness({ replies: [reply.answer('One.'), reply.answer('Two.')], store })
    await harness.say('First.')
    expect(await accepted).toBe(false)
    expect((await harness.timeline()).inbox).toEqual([])
    expect((await harness.say('Second.')).answer).toBe('Two.')
    expect((await harness.journal()).map(({ type }) => type)).not.toContain('event.accepted')
  })

  it('is not accepted when nothing is running, and leaves no entry', async () => {
    const harness = createHarness({ replies: [reply.answer('Here.')] })
    expect([await harness.agent.steer(conversationId, 'x'), await harness.agent.stop(conversationId)]).toEqual([false, false])
    await harness.say('Hello.')
    expect(await harness.agent.stop(conversationId)).toBe(false)
    expect((await harness.journal()).some(({ type }) => type === 'event.accepted')).toBe(false)
  })

  it('that comes when the turn has just ended does not stop the next', async () => {
    const harness = createHarness({ replies: [reply.answer('One.'), reply.answer('Two.')] })
    await runTurnWith(harness, 'First.', { when: entryOfType('turn.closed'), act: ({ agent }) => agent.stop(conversationId) })
    expect((await harness.say('Second.')).answer).toBe('Two.')
  })

  it('that comes between the decision and its tool call prevents the tool from starting', async () => {
    const clock = createFixedClock()
    const memory = createMemoryStore({ blobs: createMemoryBlobs(), clock })
    const held = Promise.withResolvers<void>()
    let ran = 0
    const store: ConversationStore = {
      ...memory,
      async append(claim, changes) {
        if (changes[0]?.type === 'event.accepted') await held.promise
        return memory.append(claim, changes)
      },
    }
    const tool = { ...weather(), run: async () => ({ ok: true, output: ++ran }) }
    const text = reply.call('weather.today', { city: 'Rome' })
    let steering: Promise<unknown> | undefined
    const onChunk = (index: number) => {
      if (index === 1) steering = harness.agent.steer(conversationId, 'Paris!')
      if (index === 2) setTimeout(held.resolve, 10)
    }
    const harness = createHarness({
      store,
      clock,
      tools: [tool],
      replies: [{ text, chunks: [text, ' ', ' '], onChunk }, reply.answer('Paris it is.')],
    })
    expect((await harness.say('Rome?')).answer).toBe('Paris it is.')
    await steering
    expect(ran).toBe(0)
    expect(await texts(harness, 'react.tool.result')).toEqual([expect.stringContaining('it had no effect')])
  })

  it('loop 17.95: for another turn, or for a turn that has ended, interrupts nothing', async () => {
    const work = pausedTool()
    const harness = createHarness({ tools: [work.tool], replies: [reply.answer('One.'), reply.call('paused.work'), reply.answer('Two.')] })
    const { turnId } = await harness.say('First.')
    await runTurnWith(harness, 'Second.', {
      when: toolStarted,
      act: async () => {
        expect(await harness.agent.steer(conversationId, '', { turnId, eventId: 'old' })).toBe(true)
        work.finish()
      },
    })
    expect((await texts(harness, 'react.tool.result')).at(-1)).toBe('done')
    expect(await foldedIds(harness)).toEqual([['old', null]])
  })
})

describe('an event for a conversation that is not running', () => {
  it('is rejected when the conversation does not exist', async () => {
    const harness = createHarness({ replies: [] })
    await expect(harness.agent.feedback('nowhere', '', { turnId: 't1' })).rejects.toMatchObject({ code: 'conversation.missing' })
    await expect(harness.agent.notify('nowhere', 'x')).rejects.toMatchObject({ code: 'conversation.missing' })
    expect((await harness.store.list({})).conversations).toEqual([])
  })

  it('does not disturb a turn that starts at the same time', async () => {
    const harness = createHarness({ replies: [reply.answer('One.'), reply.answer('Two.')] })
    const { turnId } = await harness.say('First.')
    const run = harness.agent.run(conversationId, 'Second.')
    await harness.agent.feedback(conversationId, '', { turnId, reaction: 'ok' })
    expect((await run.result).answer).toBe('Two.')
    expect((await harness.timeline()).inbox).toHaveLength(1)
    const both = [harness.agent.feedback(conversationId, '', { turnId, reaction: 'ok' }), harness.agent.notify(conversationId, 'news')]
    await Promise.all(both)
    expect((await harness.timeline()).inbox).toHaveLength(3)
  })

  it('is accepted once when it is sent again with the same event id', async () => {
    const harness = createHarness({ replies: [reply.answer('One.')] })
    const { turnId } = await harness.say('First.')
    for (let n = 0; n < 3; n++) await harness.agent.feedback(conversationId, '', { turnId, reaction: 'ok', eventId: 'f1' })
    expect((await harness.timeline()).inbox).toHaveLength(1)
  })
})

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 2))
}
