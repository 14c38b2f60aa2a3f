import { describe, expect, it } from 'vitest'
import { finish, plan, round, shownText, ten, turns } from '../../../test/support/prompts/compaction.ts'
import { timelineOf } from '../../../test/support/prompts/timelines.ts'
import { blockOrigin, call, completion, header, minute, prompt } from '../../testing/blocks.ts'
import { artifactContentBlock, attachmentBlocks } from '../block/index.ts'
import { applyChange } from '../timeline/apply.ts'
import { isContextOverflow } from './overflow.ts'

describe('overflow', () => {
  it.each([
    'prompt is too long: 210000 tokens > 200000 maximum',
    'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000',
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
    'error code context_length_exceeded',
    'Input is too long for requested model.',
    'input too long',
    'too many tokens in the request',
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
  ])('timeline 11.97: is recognised in "%s"', (message) => expect(isContextOverflow(message)).toBe(true))

  it.each([
    'Rate limit reached: too many tokens per minute',
    'max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens',
    'overloaded_error',
    'invalid api key',
    '',
  ])('is not recognised in "%s"', (message) => expect(isContextOverflow(message)).toBe(false))

  it('is recognised by its code', () => expect(isContextOverflow('bad request', 'context_length_exceeded')).toBe(true))

  it('forces a compaction even when the estimate fits, and each attempt retains less', () => {
    const at = (attempt: 1 | 2 | 3) =>
      plan(ten, { limit: 1_000_000, force: true, attempt, renderedTokens: 0 })?.history?.range.turnIds.length ?? 0
    expect(plan(ten, { limit: 1_000_000, renderedTokens: 0 })).toBeUndefined()
    expect([at(1), at(2), at(3)]).toEqual([6, 8, 10])
  })

  it('uses the fallback summary when the summarising model fails', () => {
    const planned = plan(ten, { force: true }) as NonNullable<ReturnType<typeof plan>>
    const finished = finish(ten, planned, {})
    if (finished.status === 'skipped') throw new Error(finished.reason)
    const shown = shownText(finished.changes.reduce(applyChange, ten))
    expect(shown).toContain('No model wrote this part')
    expect(shown).toContain('- ar:t1.user.prompt asked: question 1\n  answered: answer 1')
  })

  it('replaces even the last round when that alone is too long: the turn continues from its list of calls', () => {
    const files = Array.from({ length: 40 }, (_, i) => `fi:t1.outputs/${i}.txt`)
    const made = files.map((path) =>
      artifactContentBlock(blockOrigin('c'), { path, mime: 'text/plain', text: 'word '.repeat(2_000), digest: { artifact_path: path } }),
    )
    const before = timelineOf([header(), prompt('count'), call('c', 'exec_tools.execute_code_python'), ...made])
    expect(plan(before, { limit: 80_000, force: true })?.kind).toBe('current_turn_prefix')
    const planned = plan(before, { limit: 80_000 }) as NonNullable<ReturnType<typeof plan>>
    expect(planned.kind).toBe('current_turn_prefix')
    const finished = finish(before, planned)
    if (finished.status === 'skipped') throw new Error(finished.reason)
    const shown = shownText(finished.changes.reduce(applyChange, before))
    expect(shown).toContain('[USER MESSAGE]\n[path: ar:t1.user.prompt]\ncount')
    for (const path of files) expect(shown).toContain(path)
    expect(shown.length).toBeLessThan(10_000)
  })

  it('leaves a document of the current turn in sight that is larger than the limit: only a refusal of the provider hides it', () => {
    const pdf = attachmentBlocks('t2', minute(1), {
      name: 'report.pdf',
      mime: 'application/pdf',
      size_bytes: 9,
      blob: { sha256: 'd'.repeat(64), size: 40 * 75_000 },
    })
    const before = timelineOf([...turns(1, 1), header('t2'), prompt('what is in it?', 't2'), ...pdf, ...round('t2', 0)])
    for (const attempt of [1, 2, 3] as const) {
      const planned = plan(before, { limit: 80_000, attempt })
      const finished = planned && finish(before, planned)
      const after = finished?.status === 'completed' ? finished.changes.reduce(applyChange, before) : before
      expect(shownText(after)).toContain('<application/pdf>')
    }
  })

  it('hides images at the last attempt, but never those of the current request', () => {
    const image = (turnId: string, name: string) =>
      attachmentBlocks(turnId, minute(1), {
        name,
        mime: 'image/png',
        size_bytes: 9,
        blob: { sha256: name.repeat(64).slice(0, 64), size: 9 },
      })
    const before = timelineOf([
      header('t1'),
      ...image('t1', 'a'),
      completion('ok'),
      header('t2'),
      prompt('this?', 't2'),
      ...image('t2', 'b'),
    ])
    const planned = plan(before, { force: true, attempt: 3, renderedTokens: 0, limit: 1_000_000 })
    const finished = finish(before, planned as NonNullable<typeof planned>)
    if (finished.status === 'skipped') throw new Error(finished.reason)
    const shown = shownText(finished.changes.reduce(applyChange, before))
    expect(shown.match(/<image\/png>/g)).toHaveLength(1)
    const shot = { path: 'fi:t1.files/shot.png', mime: 'image/png' }
    const produced = artifactContentBlock(blockOrigin('c', 't1', 0), {
      ...shot,
      blob: { sha256: 'c'.repeat(64), size: 9 },
      digest: { artifact_path: shot.path },
    })
    const one = timelineOf([header('t1'), prompt('draw', 't1'), call('c', 'exec_tools.execute_code_python'), produced])
    const only = finish(one, plan(one, { force: true, attempt: 3, renderedTokens: 0 }) as NonNullable<typeof planned>)
    if (only.status === 'skipped') throw new Error(only.reason)
    expect(only.report.kind).toBe('binaries')
    expect(shownText(only.changes.reduce(applyChange, one))).toContain('HIDDEN — image or document taken out of sight')
  })
})
