import { describe, expect, it } from 'vitest'
import { contextWithRoom } from '../../../test/support/context-size.ts'
import { blocksOf } from '../../core/timeline/timeline.ts'
import { createHarness, type Harness } from '../../testing/harness.ts'
import { reply } from '../../testing/scripted-model.ts'
import type { FeedbackOptions } from '../message.ts'

const conversationId = 'c1'
const long = 'It was a long story, and every word of it counted. '.repeat(400)
const announce = ({ model }: Harness) => JSON.stringify(model.requests.at(-1)?.parts.at(-1))
const feedbackBlocks = async (harness: Harness) =>
  blocksOf(await harness.timeline()).flatMap(({ type, turn_id, text, author }) =>
    type === 'turn.feedback' ? [{ turn_id, text, author }] : [],
  )

async function later({ text = '', ...feedback }: Omit<FeedbackOptions, 'turnId'> & { readonly text?: string }, hours: number) {
  const harness = createHarness({ replies: [reply.answer('One.'), reply.answer('Two.'), reply.answer('Three.')] })
  const { turnId } = await harness.say('First.')
  await harness.agent.feedback(conversationId, text, { turnId, ...feedback })
  harness.clock.advance(hours * 3_600_000)
  await harness.say('Second.')
  return { harness, turnId }
}

describe('feedback', () => {
  it('timeline 11.101: is announced while the cache is warm, and no block changes', async () => {
    const { harness } = await later({ reaction: 'ok', text: 'Nice.' }, 0)
    expect(announce(harness)).toContain('reaction=ok | text=Nice.')
    expect(await feedbackBlocks(harness)).toEqual([])
    expect(await harness.timeline()).toMatchObject({ inbox: [{ kind: 'feedback' }] })
    await harness.say('Third.')
    expect(announce(harness)).toContain('reaction=ok | text=Nice.')
  })

  it('is inserted into its turn once the cache is cold, announced once, and advances the watermark', async () => {
    const { harness, turnId } = await later({ reaction: 'ok', text: 'Nice.' }, 1)
    expect(announce(harness)).toContain('(incorporated into turn timeline)')
    expect(await feedbackBlocks(harness)).toEqual([{ turn_id: turnId, text: 'Nice.', author: 'user' }])
    expect((await harness.timeline()).feedbackSeen).toBe('2026-01-01T00:00:00.000Z')
    await harness.say('Third.')
    expect(announce(harness)).not.toContain('FEEDBACK')
  })

  it('by a machine with low confidence is ignored, with a warm or cold cache', async () => {
    for (const hours of [0, 1]) {
      const { harness } = await later({ origin: 'machine', confidence: 0.69, reaction: 'ok' }, hours)
      expect(announce(harness)).not.toContain('FEEDBACK')
      expect(await feedbackBlocks(harness)).toEqual([])
    }
    const { harness } = await later({ origin: 'machine', confidence: 0.7, reaction: 'ok', text: 'sure' }, 1)
    expect(announce(harness)).toContain('[NEW FEEDBACKS]')
    expect(await feedbackBlocks(harness)).toMatchObject([{ text: 'sure', author: 'system' }])
  })

  it('is announced once per turn: the latest, of the user or of a machine', async () => {
    const harness = createHarness({ replies: [reply.answer('One.'), reply.answer('Two.')] })
    const { turnId } = await harness.say('First.')
    await harness.agent.feedback(conversationId, 'Good.', { turnId, reaction: 'ok' })
    await harness.agent.feedback(conversationId, 'Checked: good.', { turnId, reaction: 'ok', origin: 'machine', confidence: 0.9 })
    await harness.agent.feedback(conversationId, 'No, bad.', { turnId, reaction: 'not_ok' })
    await harness.say('Second.')
    expect(announce(harness).match(/feedback_ts=.*?\\n/g)).toHaveLength(1)
    expect(announce(harness)).toContain('reaction=not_ok | text=No, bad.')
  })

  it('replaces the feedback that an earlier turn has inserted: only the latest is shown', async () => {
    const replies = ['One.', 'Two.', 'Three.'].map((text) => reply.answer(text))
    const harness = createHarness({ replies })
    const { turnId } = await harness.say('First.')
    for (const [text, reaction] of [
      ['Nice.', 'ok'],
      ['Wrong after all.', 'not_ok'],
    ] as const) {
      await harness.agent.feedback(conversationId, text, { turnId, reaction })
      harness.clock.advance(3_600_000)
      await harness.say('Go on.')
    }
    const shown = JSON.stringify(harness.model.requests.at(-1)?.parts.slice(0, -1))
    expect(shown).toContain('[USER FEEDBACK]')
    expect(shown).toContain('Wrong after all.')
    expect(shown).not.toContain('Nice.')
    expect((await feedbackBlocks(harness)).map(({ text }) => text)).toEqual(['Nice.', 'Wrong after all.'])
  })

  it('on a compacted or unknown turn is ignored and removed from the inbox', async () => {
    const harness = createHarness({
      replies: [reply.answer(long), reply.answer(long), 'A summary of what was said.', reply.answer('Three.'), reply.answer('Four.')],
      settings: { contextTokens: contextWithRoom(7_900), keepRecentTurns: 1, decision: { maxTokens: 1_000, temperature: 0 } },
    })
    const { turnId } = await harness.say('First.')
    await harness.say('Second.')
    await harness.say('Third.')
    expect((await harness.journal()).some(({ type }) => type === 'range.compacted')).toBe(true)
    await harness.agent.feedback(conversationId, 'Late.', { turnId, reaction: 'ok' })
    await harness.agent.feedback(conversationId, 'Never.', { turnId: 'turn_0_never0', reaction: 'ok' })
    harness.clock.advance(3_600_000)
    await harness.say('Fourth.')
    expect(announce(harness)).not.toContain('FEEDBACK')
    expect(await feedbackBlocks(harness)).toEqual([])
    expect((await harness.timeline()).inbox).toEqual([])
  })

  it('on the running turn waits for the next turn', async () => {
    const harness = createHarness({ replies: [reply.answer('One.'), reply.answer('Two.')], settings: { exitGraceMs: 5 } })
    const run = harness.agent.run(conversationId, 'First.')
    for await (const event of run) {
      if (event.type === 'status') await harness.agent.feedback(conversationId, 'Slow!', { turnId: event.turn_id, reaction: 'not_ok' })
    }
    expect((await run.result).answer).toBe('One.')
    await harness.say('Second.')
    expect(announce(harness)).toContain('text=Slow!')
  })
})
