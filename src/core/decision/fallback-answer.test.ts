import { describe, expect, it } from 'vitest'
import { blockOrigin, header, minute, prompt } from '../../testing/blocks.ts'
import { artifactDigestBlock, type Digest, type Draft, planBlock } from '../block/index.ts'
import { applyChange } from '../timeline/apply.ts'
import { assignIds, emptyTimeline } from '../timeline/timeline.ts'
import { type FallbackReason, fallbackAnswer, salvageAnswer } from './fallback-answer.ts'

const timelineOf = (...drafts: readonly Draft[]) =>
  applyChange(emptyTimeline(), { type: 'blocks.appended', blocks: assignIds(emptyTimeline(), drafts) })
const made = (artifact_path: string, rest: Partial<Digest> = {}, turnId = 't1') =>
  artifactDigestBlock(blockOrigin('c1', turnId), { artifact_path, visibility: 'external', ...rest })
const plan = planBlock('t1', minute(1), {
  plan_id: 'p1',
  steps: ['search', 'write', 'check'],
  status: { '1': 'done', '2': 'in_progress' },
  current: true,
})
const attempt: Draft = {
  type: 'assistant.completion.attempt',
  author: 'assistant',
  turn_id: 't1',
  ts: minute(2),
  mime: 'text/markdown',
  path: 'ar:t1.assistant.completion.attempt.1',
  text: 'What I had.',
}
const bare = timelineOf(header(), prompt('do it'))
const busy = timelineOf(
  header('t0'),
  made('fi:t0.files/old.md', {}, 't0'),
  header(),
  prompt('do it'),
  plan,
  made('fi:t1.files/report.md'),
  made('fi:t1.files/report.md', { edited: true }),
  made('fi:t1.outputs/chart.png'),
  made('fi:t1.files/secret.md', { visibility: 'internal' }),
  made('fi:t1.outputs/broken.pdf', { status: 'error', error: { code: 'artifact_invalid', message: 'x' } }),
  made('tc:t1.c1.result'),
)

describe('the fallback answer', () => {
  it.each<[FallbackReason, string]>([
    ['max_rounds', 'I reached the step limit of this turn before I could finish.\n\nSay “continue” and I will go on from here.'],
    ['time', 'I reached the time limit of this turn before I could finish.\n\nSay “continue” and I will go on from here.'],
    ['money', 'I reached the spending limit before I could finish.\n\nSay “continue” and I will go on from here.'],
    [
      'protocol_violation',
      'I could not put together a usable reply this time, so I stopped.\n\nSay “continue” and I will go on from here.',
    ],
    ['stopped', 'I stopped as you asked. What was done so far is kept.'],
    ['provider_down', 'The model service could not be reached, so I had to stop. Your message is kept; please try again in a moment.'],
    [
      'provider_busy',
      'The model service is overloaded at the moment, so I had to stop. Your message is kept; please try again in a few minutes.',
    ],
    ['error', 'Something went wrong on our side and I had to stop. Your message is kept; please try again.'],
  ])('has a fixed text for %s', (reason, text) => {
    expect(fallbackAnswer(reason, bare, 't1')).toBe(text)
  })

  it('loop 17.73: lists the open steps of the plan and the files of this turn that are not internal', () => {
    expect(fallbackAnswer('max_rounds', busy, 't1')).toMatchInlineSnapshot(`
      "I reached the step limit of this turn before I could finish.

      Still open:
      - write
      - check

      Files made so far:
      - report.md
      - chart.png

      Say “continue” and I will go on from here."
    `)
  })

  it('tells the user that a reply was too long, and hides all other protocol violations', () => {
    expect(fallbackAnswer('protocol_violation', bare, 't1', 'protocol_violation.action_truncated')).toMatch(/^My reply grew too long/)
    expect(fallbackAnswer('protocol_violation', bare, 't1', 'protocol_violation.invalid_action:rm')).toBe(
      fallbackAnswer('protocol_violation', bare, 't1'),
    )
  })

  it('limits the number and the length of the listed steps', () => {
    const steps = Array.from({ length: 40 }, (_, i) => `step ${i} ${'x'.repeat(400)}`)
    const long = timelineOf(planBlock('t1', minute(1), { plan_id: 'p1', steps, status: {}, current: true }))
    expect(fallbackAnswer('time', long, 't1').length).toBeLessThan(1_600)
    expect(fallbackAnswer('time', long, 't1')).toContain('- and 32 more')
  })

  it('loop 17.74: is the latest answer attempt of the turn, unless the user stopped it', () => {
    const tried = applyChange(busy, { type: 'blocks.appended', blocks: assignIds(busy, [attempt]) })
    expect(fallbackAnswer('max_rounds', tried, 't1')).toBe('What I had.')
    expect(fallbackAnswer('stopped', tried, 't1')).toMatch(/^I stopped as you asked/)
    expect(fallbackAnswer('max_rounds', tried, 't2')).toMatch(/^I reached the step limit/)
  })
})

describe('an answer that the user has seen', () => {
  const broken = { violation: { code: 'protocol_violation.action_schema_error' }, cut: false }

  it('loop 17.65: is kept although the rest of the response is broken', () => {
    expect(salvageAnswer({ ...broken, delivered: 'A [[S:1]]\n' })).toEqual({
      action: 'complete',
      answer: 'A [[S:1]]',
      followups: [],
      truncated: false,
    })
    expect(salvageAnswer({ ...broken, delivered: 'A', cut: true })).toMatchObject({ truncated: true })
  })

  it('is not kept when it is blank, or when the stream broke', () => {
    expect(salvageAnswer({ ...broken, delivered: ' \n' })).toBeUndefined()
    expect(salvageAnswer({ ...broken, delivered: undefined })).toBeUndefined()
    expect(salvageAnswer({ ...broken, delivered: 'A', violation: { code: 'service_interrupted' } })).toBeUndefined()
  })
})
