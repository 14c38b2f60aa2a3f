import { describe, expect, it } from 'vitest'
import { pausedTool, slowTool, weather } from '../../../test/support/scenario-tools.ts'
import {
  answered,
  decisions,
  entryOfType,
  followUpWith,
  runTurnWith,
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
import { answers, calls, scriptedModel } from '../../testing/scripted-model.ts'
import type { FoldedEvent } from '../hooks.ts'

const conversation = 'c1'
const foldedIds = async (stage: Harness) =>
  (await stage.journal()).flatMap((change) => (change.type === 'event.folded' ? change.event_ids.map((id) => [id, change.turn_id]) : []))
const texts = async (stage: Harness, type: string) =>
  blocksOf(await stage.timeline()).flatMap((block) => (block.type === type ? [block.text] : []))
const announced = ({ model }: Harness) => JSON.stringify(model.requests.at(-1)?.parts.at(-1))

describe('the grace after an answer', () => {
  it('is not cut short by what needs no answer', async () => {
    const stage = createHarness({ replies: [answers('One.'), answers('Both.')], settings: { exitGraceMs: 10_000 } })
    const late = async ({ agent }: Harness) => {
      await agent.notify(conversation, 'The disk is half full.')
      await agent.steer(conversation, 'Too late.', { turnId: 'turn_of_yesterday' })
      await new Promise(setImmediate)
      await agent.followUp(conversation, 'Second.')
    }
    const said = await runTurnWith(stage, 'First.', { when: answered, act: late }, { when: answered, act: stopTurn })
    expect(said.answer).toBe('Both.')
    expect(await texts(stage, 'user.followup')).toEqual(['Second.'])
  })
})

describe('a followup', () => {
  it('is what the second of two at once becomes: one turn, both are told its result', async () => {
    const stage = createHarness({ replies: [answers('One.'), answers('Both.')], settings: { exitGraceMs: 5 } })
    const run = (input: string) => stage.agent.run({ conversation, input }).result
    const [first, second] = await Promise.all([run('First.'), run('Second.')])
    expect(second).toEqual(first)
    expect(await texts(stage, 'user.prompt')).toEqual(['First.'])
    expect(await texts(stage, 'user.followup')).toEqual(['Second.'])
  })

  it('becomes the next turn when it comes too late for this one, and each is told the result of its own', async () => {
    const stage = createHarness({ replies: [answers('One.'), answers('Two.')] })
    const second: Promise<unknown>[] = []
    const first = await runTurnWith(stage, 'First.', {
      when: entryOfType('turn.closed'),
      act: async () => void second.push(stage.agent.run({ conversation, input: 'Second.' }).result),
    })
    expect(first.answer).toBe('One.')
    expect(await second[0]).toMatchObject({ answer: 'Two.' })
    expect(await texts(stage, 'user.prompt')).toEqual(['First.', 'Second.'])
    expect((await stage.timeline()).inbox).toEqual([])
  })

  it('that becomes the next turn is none of the events of this one', async () => {
    const stage = createHarness({ tools: [slowTool()], replies: [calls('slow.work'), answers('Two.')] })
    const { events, turnId } = await runTurnWith(stage, 'First.', {
      when: toolStarted,
      act: async ({ agent }) => {
        const stopping = agent.stop(conversation)
        await agent.followUp(conversation, 'Second.')
        await stopping
      },
    })
    await stage.agent.drain(5_000)
    expect(events.at(-1)).toMatchObject({ type: 'entry', change: { type: 'turn.closed', turn_id: turnId } })
    expect(await texts(stage, 'user.prompt')).toEqual(['First.', 'Second.'])
  })

  it('waits for the next turn when the user has stopped this one, and so do those after it', async () => {
    const stage = createHarness({ tools: [slowTool()], replies: [calls('slow.work'), answers('Both.')] })
    const said: Promise<unknown>[] = []
    const say = (input: string) => void said.push(stage.agent.run({ conversation, input }).result)
    await runTurnWith(stage, 'First.', {
      when: toolStarted,
      act: async ({ agent }) => {
        const stopping = agent.stop(conversation)
        say('Second.')
        say('Third.')
        await stopping
      },
    })
    expect(await Promise.all(said)).toMatchObject([{ answer: 'Both.' }, { answer: 'Both.' }])
    expect(await texts(stage, 'user.prompt')).toEqual(['First.', 'Second.'])
    expect(await texts(stage, 'user.followup')).toEqual(['Third.'])
  })

  it('is part of the turn that a stop ends right after it, also when nothing can hold that turn back', async () => {
    for (const replies of [
      [calls('weather.today', { city: 'Rome' }), answers('Clear.')],
      ['nonsense', 'nonsense', 'nonsense'],
    ]) {
      let said = false
      const onBeforeCompletion = async () => {
        if (said) return []
        said = true
        await stage.agent.followUp(conversation, 'And Oslo?')
        await stage.agent.stop(conversation)
        return []
      }
      const settings = { maxRounds: replies.length === 2 ? 1 : 15 }
      const stage: Harness = createHarness({
        tools: [weather()],
        replies: [...replies, answers('Never.')],
        settings,
        hooks: [{ onBeforeCompletion }],
      })
      const { answer, turnId } = await stage.say('How is Rome?')
      await stage.agent.drain(5_000)
      expect(answer).toMatch(/^(Clear\.$|I could not)/)
      expect(await texts(stage, 'user.followup')).toEqual(['And Oslo?'])
      expect(new Set((await foldedIds(stage)).map(([, by]) => by))).toEqual(new Set([turnId]))
      expect(stage.model.left).toBe(1)
    }
  })

  it('under a name of its own starts one turn, however often it is sent', async () => {
    const stage = createHarness({ replies: [answers('One.'), answers('never asked for')] })
    const send = () => stage.agent.followUp(conversation, 'Hello.', { eventId: 'e1' })
    await Promise.all([send(), send()])
    await stage.agent.follow(conversation)[Symbol.asyncIterator]().next()
    await send()
    await until(async () => (await stage.timeline()).openTurn === undefined && (await stage.timeline()).size > 0)
    await send()
    expect(await texts(stage, 'user.prompt')).toEqual(['Hello.'])
    expect(await texts(stage, 'user.followup')).toEqual([])
    expect(stage.model.left).toBe(1)
  })

  it('is told which turn is at work on it, and that is the one that runs by now', async () => {
    const stage = createHarness({ replies: [answers('One.'), { text: answers('Two.'), chunks: 4, delayMs: 1 }, answers('Three.')] })
    await runTurnWith(stage, 'First.', { when: entryOfType('turn.closed'), act: followUpWith('Second.') })
    const opened = async () => (await stage.journal()).flatMap((change) => (change.type === 'turn.opened' ? [change.turn_id] : []))
    await until(async () => (await opened()).length === 2)
    const { how, turnId } = await stage.agent.submit(conversation, 'Third.')
    expect({ how, turnId }).toEqual({ how: 'followup', turnId: (await opened())[1] })
    await stage.agent.drain(5_000)
  })

  it('answers the questions that stand open in its own turn; the next message answers nothing', async () => {
    const gate = '<channel:thinking>x</channel:thinking><channel:output>{"clarification_questions":["Which Rome?"]}</channel:output>'
    const model = scriptedModel([gate, answers('Which Rome?'), answers('Clear.'), answers('Bye.')], { title: null })
    const stage = createHarness({ replies: [], model, settings: { exitGraceMs: 10_000 } })
    await runTurnWith(stage, 'The weather in Rome?', { when: answered, act: followUpWith('In Italy.') }, { when: answered, act: stopTurn })
    await runTurnWith(stage, 'Thanks.', { when: answered, act: stopTurn })
    const types = blocksOf(await stage.timeline()).map(({ type }) => type)
    expect(types.filter((type) => /^user|clarification/.test(type))).toEqual([
      'user.prompt',
      'stage.clarification',
      'user.followup',
      'stage.clarification.resolved',
      'user.prompt',
    ])
  })

  it('holds back an answer that no hook is asked to complete: they are asked once, for the last word', async () => {
    const asked: string[] = []
    const hook = (name: string) => () => {
      asked.push(name)
      return []
    }
    const hooks = [{ onBeforeCompletion: hook('before'), onAfterCompletion: hook('after') }]
    const stage = createHarness({
      replies: [{ text: answers('One.'), onChunk: () => followUpWith('Second.')(stage) as Promise<void> }, answers('Two.')],
      hooks,
    })
    expect(await stage.say('First.')).toMatchObject({ answer: 'Two.' })
    expect(asked).toEqual(['before', 'after'])
  })

  it('is told to hooks with the blocks that it became', async () => {
    const told: unknown[] = []
    const onExternalEvent = ({ type, event, blocks }: FoldedEvent) =>
      void told.push([type, event.text, blocks.map((block) => [block.type, block.text?.split('\n').at(-1)])])
    const stage = createHarness({ replies: [answers('One.'), answers('Two.')], hooks: [{ onExternalEvent }] })
    await runTurnWith(stage, 'First.', { when: answered, act: followUpWith('Second.') })
    expect(told).toEqual([['followup', 'Second.', [['user.followup', 'Second.']]]])
  })

  it('adds no more rounds than the cap on credit allows', async () => {
    const stage = createHarness({ replies: [answers('One.'), answers('Two.')], settings: { creditCap: 0 } })
    await runTurnWith(stage, 'First.', { when: answered, act: followUpWith('Second.') })
    expect(announced(stage)).not.toContain('bonus')
    expect(() => createHarness({ replies: [], settings: { creditCap: Number.NaN } })).toThrow(RangeError)
  })

  it('is what was said, whatever a hook makes of it', async () => {
    const onExternalEvent = ({ event }: FoldedEvent) => void Object.assign(event, { text: 'Something else.', kind: 'steer' })
    const stage = createHarness({ replies: [answers('One.'), answers('Two.')], hooks: [{ onExternalEvent }] })
    await runTurnWith(stage, 'First.', { when: answered, act: followUpWith('Second.') })
    const accepted = (await stage.journal()).flatMap((change) => (change.type === 'event.accepted' ? [change.event] : []))
    expect(accepted).toMatchObject([{ kind: 'followup', text: 'Second.' }])
    expect(announced(stage)).toContain('Second.')
    expect(announced(stage)).toContain('bonus') // it has earned a round
  })

  it('must have a name that can stand in a path', async () => {
    const stage = createHarness({ replies: [] })
    await expect(stage.agent.followUp(conversation, 'x', { eventId: 'a/b' })).rejects.toThrow(RangeError)
    await expect(stage.agent.steer(conversation, 'x', { eventId: '' })).rejects.toThrow(RangeError)
  })

  it('loop 17.98: is folded in the order of its sequence, whatever the order of delivery', async () => {
    const stage = createHarness({ replies: [answers('All read.')] })
    const claim = await stage.store.claim(conversation, { id: 'o', host: 'elsewhere', pid: 1 })
    const event = (sequence: number) => ({
      event_id: `e${sequence}`,
      sequence,
      kind: 'external' as const,
      ts: stage.clock.now(),
      text: `${sequence}`,
    })
    await stage.store.append(
      claim,
      [2, 3, 1].map((sequence) => ({ type: 'event.accepted' as const, event: event(sequence) })),
    )
    await stage.store.release(claim)
    await stage.say('What is new?')
    expect(await texts(stage, 'event.external')).toEqual(['1', '2', '3'])
  })
})

describe('credit', () => {
  const work = pausedTool()
  async function during(act: (stage: Harness) => Promise<unknown>): Promise<string> {
    const stage = createHarness({ tools: [work.tool], replies: [calls('paused.work'), answers('Done.')], settings: { maxRounds: 3 } })
    await runTurnWith(stage, 'Do it.', {
      when: toolStarted,
      act: async () => {
        await act(stage)
        work.finish()
      },
    })
    return /Iteration \d+\/\d+/.exec(announced(stage))?.[0] ?? ''
  }

  it('loop 17.97: a followup and a reactive event earn a round; a steer and any other event do not', async () => {
    expect(await during(({ agent }) => agent.followUp(conversation, 'And?'))).toBe('Iteration 2/4')
    expect(await during(({ agent }) => agent.notify(conversation, 'Down!', { reactive: true }))).toBe('Iteration 2/4')
    expect(await during(({ agent }) => agent.notify(conversation, 'Slow.'))).toBe('Iteration 2/3')
    expect(await during(({ agent }) => agent.steer(conversation, 'Shorter.'))).toBe('Iteration 2/3')
  })

  it('is earned once by an event, and never more than the turn had to begin with', async () => {
    const twice = async ({ agent }: Harness) => {
      await agent.followUp(conversation, 'And?', { eventId: 'e1' })
      await agent.followUp(conversation, 'And?', { eventId: 'e1' })
    }
    expect(await during(twice)).toBe('Iteration 2/4')
    const often = async ({ agent }: Harness) => {
      for (let n = 0; n < 10; n++) await agent.followUp(conversation, 'And?')
    }
    expect(await during(often)).toBe('Iteration 2/6')
  })
})

describe('an answer', () => {
  it('waits for a reactive event that came in meanwhile, not for any other', async () => {
    const stage = (replies: readonly string[]) => createHarness({ replies, settings: { exitGraceMs: 20 } })
    const waiting = stage([answers('One.'), answers('Two.')])
    const notify = (reactive: boolean) => ({
      when: answered,
      act: ({ agent }: Harness) => agent.notify(conversation, 'Down!', { reactive }),
    })
    expect((await runTurnWith(waiting, 'Go.', notify(true))).answer).toBe('Two.')
    const going = stage([answers('One.'), answers('never asked for')])
    expect((await runTurnWith(going, 'Go.', notify(false))).answer).toBe('One.')
    expect((await going.timeline()).inbox).toHaveLength(1) // for the next turn
  })

  it('that is deferred more than once stands there each time, in order', async () => {
    const stage = createHarness({ replies: [answers('One.'), answers('Two.'), answers('Three.')], settings: { exitGraceMs: 20 } })
    await runTurnWith(stage, 'Go.', { when: answered, act: followUpWith('And?') }, { when: answered, act: followUpWith('And then?') })
    const completions = blocksOf(await stage.timeline()).filter(({ type }) => type === 'assistant.completion')
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

  it('of a turn that is wrapping up is deferred by a late followup, too, which ends the wrapping up', async () => {
    const stage = createHarness({
      tools: [slowTool()],
      replies: [calls('slow.work'), answers('As far as I came.'), answers('And that, too.')],
      settings: { exitGraceMs: 20 },
    })
    const wrapUp = { when: toolStarted, act: steerWith('Wrap up.', { mode: 'wrap_up' }) }
    const { exitReason, answer } = await runTurnWith(stage, 'Go.', wrapUp, { when: answered, act: followUpWith('And that?') })
    expect([exitReason, answer]).toEqual(['complete', 'And that, too.'])
  })
})

describe('wrapping up', () => {
  const wrapUp = { when: toolStarted, act: steerWith('Wrap up.', { mode: 'wrap_up' }) }
  const write = calls('react.write', { path: 'files/a.md', channel: 'canvas', content: 'a', kind: 'file' })

  it('loop 17.92: lasts two rounds at most, broken responses included', async () => {
    const stage = createHarness({ tools: [slowTool()], replies: [calls('slow.work'), 'Sure, I', write, answers('never asked for')] })
    const { exitReason, answer } = await runTurnWith(stage, 'Go.', wrapUp)
    expect(exitReason).toBe('steer')
    expect(answer).toMatch(/^I stopped as you asked/)
    expect(decisions(stage)).toBe(3)
  })
})

describe('a steer', () => {
  it('that comes when its turn is closed is told that nothing runs, and leaves nothing behind', async () => {
    const inner = createMemoryStore({ blobs: createMemoryBlobs(), clock: createFixedClock() })
    let heeded: Promise<boolean> | undefined
    const store: ConversationStore = {
      ...inner,
      async append(claim, changes) {
        const entries = await inner.append(claim, changes)
        if (changes.some(({ type }) => type === 'turn.closed')) heeded ??= stage.agent.steer(conversation, 'Shorter.')
        await new Promise((resolve) => setTimeout(resolve, 5)) // the steer is at the door before anybody knows of the close
        return entries
      },
    }
    const stage = createHarness({ replies: [answers('One.'), answers('Two.')], store })
    await stage.say('First.')
    expect(await heeded).toBe(false)
    expect((await stage.timeline()).inbox).toEqual([])
    expect((await stage.say('Second.')).answer).toBe('Two.')
    expect((await stage.journal()).map(({ type }) => type)).not.toContain('event.accepted')
  })

  it('goes nowhere when nothing is running, and leaves no trace', async () => {
    const stage = createHarness({ replies: [answers('Here.')] })
    expect([await stage.agent.steer(conversation, 'x'), await stage.agent.stop(conversation)]).toEqual([false, false])
    await stage.say('Hello.')
    expect(await stage.agent.stop(conversation)).toBe(false)
    expect((await stage.journal()).some(({ type }) => type === 'event.accepted')).toBe(false)
  })

  it('that comes when the turn has just ended does not stop the next', async () => {
    const stage = createHarness({ replies: [answers('One.'), answers('Two.')] })
    await runTurnWith(stage, 'First.', { when: entryOfType('turn.closed'), act: ({ agent }) => agent.stop(conversation) })
    expect((await stage.say('Second.')).answer).toBe('Two.')
  })

  it('that comes between the decision and its tool keeps the tool from starting', async () => {
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
    const text = calls('weather.today', { city: 'Rome' })
    let steering: Promise<unknown> | undefined
    const onChunk = (index: number) => {
      if (index === 1) steering = stage.agent.steer(conversation, 'Paris!')
      if (index === 2) setTimeout(held.resolve, 10)
    }
    const stage = createHarness({
      store,
      clock,
      tools: [tool],
      replies: [{ text, chunks: [text, ' ', ' '], onChunk }, answers('Paris it is.')],
    })
    expect((await stage.say('Rome?')).answer).toBe('Paris it is.')
    await steering
    expect(ran).toBe(0)
    expect(await texts(stage, 'react.tool.result')).toEqual([expect.stringContaining('it had no effect')])
  })

  it('loop 17.95: that names another turn interrupts nothing; the same goes for one of a turn that is over', async () => {
    const work = pausedTool()
    const stage = createHarness({ tools: [work.tool], replies: [answers('One.'), calls('paused.work'), answers('Two.')] })
    const { turnId } = await stage.say('First.')
    await runTurnWith(stage, 'Second.', {
      when: toolStarted,
      act: async () => {
        expect(await stage.agent.steer(conversation, '', { turnId, eventId: 'old' })).toBe(true)
        work.finish()
      },
    })
    expect(await texts(stage, 'react.tool.result')).toEqual(['done'])
    expect(await foldedIds(stage)).toEqual([['old', null]])
  })
})

describe('what is left for a conversation at rest', () => {
  it('needs a conversation', async () => {
    const stage = createHarness({ replies: [] })
    await expect(stage.agent.feedback('nowhere', { turnId: 't1' })).rejects.toMatchObject({ code: 'conversation.missing' })
    await expect(stage.agent.notify('nowhere', 'x')).rejects.toMatchObject({ code: 'conversation.missing' })
    expect((await stage.store.list({})).conversations).toEqual([])
  })

  it('does not get in the way of a turn that begins at the same time', async () => {
    const stage = createHarness({ replies: [answers('One.'), answers('Two.')] })
    const { turnId } = await stage.say('First.')
    const run = stage.agent.run({ conversation, input: 'Second.' })
    await stage.agent.feedback(conversation, { turnId, reaction: 'ok' })
    expect((await run.result).answer).toBe('Two.')
    expect((await stage.timeline()).inbox).toHaveLength(1)
    const both = [stage.agent.feedback(conversation, { turnId, reaction: 'ok' }), stage.agent.notify(conversation, 'news')]
    await Promise.all(both)
    expect((await stage.timeline()).inbox).toHaveLength(3)
  })

  it('is known when it is sent again', async () => {
    const stage = createHarness({ replies: [answers('One.')] })
    const { turnId } = await stage.say('First.')
    for (let n = 0; n < 3; n++) await stage.agent.feedback(conversation, { turnId, reaction: 'ok', eventId: 'f1' })
    expect((await stage.timeline()).inbox).toHaveLength(1)
  })
})

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 2))
}
