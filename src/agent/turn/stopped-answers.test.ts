import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { failingStore } from '../../../test/support/crash/failing-store.ts'
import { search, slowTool } from '../../../test/support/scenario-tools.ts'
import {
  answering,
  decisions,
  deltasOf,
  laneText,
  runTurnWith,
  sendWith,
  steerWith,
  stopTurn,
  whenShown,
} from '../../../test/support/watch-turn.ts'
import type { Block } from '../../core/block/index.ts'
import { replaceBatch } from '../../core/citations/replace.ts'
import type { TurnEvent } from '../../core/event.ts'
import { sourcesBySid } from '../../core/sources/pool.ts'
import { blockAt, blocksOfTurn } from '../../core/timeline/timeline.ts'
import { LEASE_MS } from '../../ports/store.ts'
import { createHarness, type Harness } from '../../testing/harness.ts'
import { reply, type ScriptedReply } from '../../testing/scripted-model.ts'

const fixedWords = 'I stopped as you asked. What was done so far is kept.'
const rome = 'Rome was founded, as legend has it, by two brothers'

const searching = reply.call('web_tools.web_search', { query: 'Rome' })

/** A response that has written a part of its answer and then waits to be stopped. */
const unfinished = (text: string, chunks = 9): ScriptedReply => ({
  text: reply.answer(text).replace(/<\/channel:answer>$/, ''),
  chunks,
  stall: true,
})

async function completionsOf(harness: Harness, turnId: string): Promise<readonly Block[]> {
  return blocksOfTurn(await harness.timeline(), turnId).filter(({ type }) => type === 'assistant.completion')
}

const firstTurn = async (harness: Harness) => blockAt(await harness.timeline(), 0)?.turn_id ?? ''

describe('an answer that the user stops', () => {
  it('is kept as far as users saw it, and marked', async () => {
    const harness = createHarness({ replies: [unfinished(rome), reply.answer('never asked for')] })
    const turn = await runTurnWith(harness, 'Tell me about Rome.', { when: whenShown(rome), act: stopTurn })
    expect(laneText(turn.events, 'answer')).toBe(rome)
    expect(turn).toMatchObject({ exitReason: 'steer', ok: true, answer: rome, stopped: true, truncated: false, followups: [] })
    expect(await completionsOf(harness, turn.turnId)).toMatchObject([{ text: rome, meta: { stopped: true, iteration: 0 } }])
    expect(decisions(harness)).toBe(1)
  })

  it.each<[string, string, string, string]>([
    ['a citation', 'It is old [[S:1', 'It is old ', '[[S:1'],
    ['a citation after an exclamation mark', 'It is old![[', 'It is old!', '[['],
    ['a character', 'It is old \ud83c', 'It is old ', '\ud83c'],
    ['the closing tag', 'It is old.</channel:ans', 'It is old.', '</channel:ans'],
  ])('does not end in a part of %s', async (_, written, kept, cut) => {
    const harness = createHarness({ replies: [unfinished(written, 1_000)] })
    const turn = await runTurnWith(harness, 'Rome?', { when: answering, act: stopTurn })
    expect(laneText(turn.events, 'answer')).toBe(kept)
    expect(turn.answer).toBe(kept)
    expect(await completionsOf(harness, turn.turnId)).toMatchObject([{ text: kept }])
    expect(JSON.stringify(turn.events.filter(({ type }) => type === 'lane.delta'))).not.toContain(JSON.stringify(cut).slice(1, -1))
  })

  it('is a fixed text when users had seen nothing of it', async () => {
    const before = reply.answer('').replace(/<channel:answer>.*$/s, '')
    for (const text of [before, `${before}<channel:answer>`, `${before}<channel:answer>  \n`, `${before}<channel:answer>[[S:9]]`]) {
      const harness = createHarness({ replies: [{ text, stall: true, onChunk: () => void setTimeout(() => stopTurn(harness), 5) }] })
      const turn = await harness.say('Rome?')
      expect(turn).toMatchObject({ answer: fixedWords, exitReason: 'steer' })
      expect(turn).not.toHaveProperty('stopped')
      const [completion] = await completionsOf(harness, turn.turnId)
      expect(completion?.meta).not.toHaveProperty('stopped')
    }
  })

  it('is the same when the signal of run aborts, and when no client watches', async () => {
    const abort = new AbortController()
    const watched = createHarness({ replies: [unfinished(rome)] })
    const turn = watched.agent.run('c1', 'Rome?', { signal: abort.signal })
    const isSeen = whenShown(rome)
    for await (const event of turn) if (isSeen(event)) abort.abort()
    expect(await turn.result).toMatchObject({ answer: rome, stopped: true, exitReason: 'steer' })

    const alone = createHarness({ replies: [{ ...unfinished(rome), onChunk: (n) => n === 13 && stopTurn(alone) }] })
    await alone.agent.send('c1', 'Rome?')
    await alone.agent.drain(10_000)
    const [completion] = await completionsOf(alone, await firstTurn(alone))
    expect(completion?.meta?.stopped).toBe(true)
    expect(rome.startsWith(completion?.text ?? '?') && completion?.text !== '').toBe(true)
  })

  it('is stopped, not complete, when the adapter ends the stream as if the model were done', async () => {
    const inner = createHarness({ replies: [] }).model
    const { text = '' } = unfinished(rome)
    const stream: typeof inner.stream = (request, signal) =>
      request.role === 'decision'
        ? (async function* () {
            yield { type: 'text.delta' as const, text }
            await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
            yield { type: 'finish' as const, finishReason: 'stop' as const, modelName: 'polite' }
          })()
        : inner.stream(request, signal)
    const harness = createHarness({ replies: [], model: { ...inner, left: 0, stream }, settings: { stopGraceMs: 10_000 } })
    const turn = await runTurnWith(harness, 'Rome?', { when: answering, act: stopTurn })
    expect(turn).toMatchObject({ answer: rome, stopped: true, exitReason: 'steer' })
  })

  it('comes after answers that were held back', async () => {
    const harness = createHarness({ replies: [reply.answer('It is old.'), unfinished('It is old, and large')] })
    const turn = await runTurnWith(
      harness,
      'Rome?',
      { when: answering, act: sendWith('And its size?') },
      { when: whenShown('It is old, and large'), act: stopTurn },
    )
    const completions = await completionsOf(harness, turn.turnId)
    expect(completions.map(({ text, meta }) => [text, meta?.stopped])).toEqual([
      ['It is old.', undefined],
      ['It is old, and large', true],
    ])
  })

  it('is whole when a second action had begun after it', async () => {
    const text = `${reply.answer('It is clear.')}<channel:action>{"action":"call_tool","tool_ca`
    const harness = createHarness({ replies: [{ text, stall: true }] })
    const turn = await runTurnWith(harness, 'Rome?', { when: answering, act: stopTurn })
    expect(turn).toMatchObject({ answer: 'It is clear.', stopped: true })
  })

  it('is kept when text steers came before the stop', async () => {
    const harness = createHarness({ replies: [unfinished(rome)] })
    const act = async (at: Harness) => {
      await steerWith('Shorter.')(at)
      await stopTurn(at)
    }
    const turn = await runTurnWith(harness, 'Rome?', { when: whenShown(rome), act })
    expect(turn.exitReason).toBe('steer')
    expect((await completionsOf(harness, turn.turnId)).at(-1)?.text).toBe(rome)
  })

  it('shows exactly the characters of its block, wherever it is cut', async () => {
    const pieces = fc.constantFrom(
      'a',
      ' ',
      '\n',
      '!',
      '\\',
      '`',
      '```\n',
      '[[',
      '[[S:1]]',
      '[[S:1',
      '[[S:9]]',
      '😀',
      '<',
      '</channel:',
      '<b>',
      '[[USAGE:1]]',
    )
    let kept = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(pieces, { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 7 }),
        fc.constantFrom('', '\ud83d'),
        async (parts, chunks, split) => {
          const harness = createHarness({ replies: [searching, unfinished(`x${parts.join('')}${split}`, chunks)], tools: [search()] })
          const turn = harness.agent.run('c1', 'Rome?')
          const events: TurnEvent[] = []
          for await (const event of turn) {
            events.push(event)
            if (answering(event) && events.filter(answering).length === 1) setTimeout(() => void stopTurn(harness), 1)
          }
          const { turnId, stopped } = await turn.result
          if (!stopped) return
          kept++
          const timeline = await harness.timeline()
          const text = (await completionsOf(harness, turnId)).at(-1)?.text ?? ''
          expect(replaceBatch(text, sourcesBySid(timeline.sources), { keepUnresolved: false })).toBe(laneText(events, 'answer'))
          expect(text.isWellFormed()).toBe(true)
        },
      ),
      { numRuns: 60 },
    )
    expect(kept).toBeGreaterThan(40)
  })
})

describe('what remains of a stopped answer', () => {
  it('is what the model reads in the next turn, with the mark', async () => {
    const harness = createHarness({ replies: [unfinished(rome), reply.answer('By Romulus and Remus.')] })
    const { turnId } = await runTurnWith(harness, 'Tell me about Rome.', { when: whenShown(rome), act: stopTurn })
    await harness.say('Go on.')
    const prompt =
      harness.model.requests
        .at(-1)
        ?.parts.map((part) => (part.type === 'text' ? part.text : ''))
        .join('\n') ?? ''
    expect(prompt).toContain(
      `[ASSISTANT MESSAGE]\n[path: ar:${turnId}.assistant.completion]\n[stopped by the user: only this part was shown]\n${rome}`,
    )
  })

  it('is the same after a crash between the interrupted response and the end of the turn', async () => {
    let resumed = 0
    for (let append = 1; append <= 8; append++) {
      for (const side of ['before', 'after'] as const) {
        const { store, clock } = createHarness({ replies: [] })
        const first = createHarness({ replies: [unfinished(`${rome} [[S:`, 1_000)], store: failingStore(store, { append, side }), clock })
        const crashed = await runTurnWith(first, 'Rome?', { when: answering, act: stopTurn }).then(
          () => false,
          () => true,
        )
        const next = createHarness({ replies: [reply.answer('asked again')], store, clock })
        const isInterrupted = (await next.journal()).some(
          (change) => change.type === 'response.received' && change.finish_reason === 'interrupted',
        )
        if (!crashed || !isInterrupted) continue
        clock.advance(LEASE_MS + 1)
        const { results } = await next.agent.recover()
        if (results.length > 0) resumed++
        for (const result of results) expect(result, `${side} ${append}`).toMatchObject({ answer: `${rome} `, stopped: true })
        const turnId = await firstTurn(next)
        expect(await completionsOf(next, turnId)).toMatchObject([{ text: `${rome} `, meta: { stopped: true, iteration: 0 } }])
      }
    }
    expect(resumed).toBeGreaterThan(1)
  })
})

describe('an answer that something else interrupts', () => {
  const limits = { maxSeconds: 0.1, wrapUpSeconds: 0.05, stopGraceMs: 20 }

  it('at the time limit stays visible before the fixed text when the wrap-up fails, too', async () => {
    const harness = createHarness({ replies: [unfinished(rome), { text: '', stall: true }], settings: limits })
    const turn = await harness.say('Rome?')
    expect(turn).toMatchObject({ exitReason: 'time', answer: expect.stringMatching(/^I reached the time limit/) })
    const completions = await completionsOf(harness, turn.turnId)
    expect(completions.map(({ text, meta }) => [text?.slice(0, 10), meta?.truncated, meta?.stopped])).toEqual([
      ['Rome was f', true, undefined],
      ['I reached ', undefined, undefined],
    ])
    expect(deltasOf(turn.events, 'answer').map(({ iteration }) => iteration)).toContain(0)
  })

  it('at the time limit is replaced by the answer of the wrap-up', async () => {
    const harness = createHarness({ replies: [unfinished(rome), reply.answer('By two brothers.')], settings: limits })
    const turn = await harness.say('Rome?')
    expect((await completionsOf(harness, turn.turnId)).map(({ text }) => text)).toEqual(['By two brothers.'])
  })

  it('by a redirection is not sent to clients that join in the next round', async () => {
    const harness = createHarness({ replies: [unfinished(rome), unfinished('Paris is', 1_000)] })
    const joined: TurnEvent[] = []
    const join = async (at: Harness) => {
      for await (const event of at.agent.follow('c1')) {
        joined.push(event)
        if (event.type === 'lane.delta' && event.delta.text === 'Paris is') break
      }
      await stopTurn(at)
    }
    const turn = await runTurnWith(
      harness,
      'Rome?',
      { when: whenShown(rome), act: steerWith('Paris instead.') },
      { when: (event) => answering(event) && 'iteration' in event && event.iteration === 1, act: join },
    )
    expect(deltasOf(joined, 'answer').map(({ iteration }) => iteration)).toEqual([1])
    expect(turn.answer).toBe('Paris is')
  })

  it('by a redirection stays visible before the fixed text when no other answer follows', async () => {
    const harness = createHarness({ replies: [unfinished(rome), reply.call('slow.work'), reply.answer('x')], tools: [slowTool()] })
    const turn = await runTurnWith(
      harness,
      'Rome?',
      { when: whenShown(rome), act: steerWith('Paris instead.') },
      { when: (event) => event.type === 'status' && event.status === 'tool.started', act: stopTurn },
    )
    expect((await completionsOf(harness, turn.turnId)).map(({ text }) => text)).toEqual([rome, fixedWords])
  })
})
