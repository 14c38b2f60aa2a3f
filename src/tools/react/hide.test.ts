import { describe, expect, it } from 'vitest'
import { toolFixture } from '../../../test/support/tool-fixture.ts'
import { completion, rounds } from '../../testing/blocks.ts'
import { createHideTool } from './hide.ts'

const hideTool = createHideTool()

describe('react.hide', () => {
  it('hides a block in the tail and reports how much was hidden', async () => {
    const fixture = await toolFixture(rounds(6))
    const outcome = await fixture.run(hideTool, { path: 'tc:t1.t1c5.result', replacement_text: 'old numbers' })
    expect(outcome).toMatchObject({
      ok: true,
      changes: [{ type: 'blocks.hidden', replacement_text: 'old numbers', reason: 'hide' }],
      output: { path: 'tc:t1.t1c5.result', status: 'ok', blocks_hidden: 1, tail_limit: 4_000 },
    })
  })

  it('hides a block of 20,000 tokens when nothing comes after it', async () => {
    const long = rounds(3).map((draft) => (draft.path === 'tc:t1.t1c2.result' ? { ...draft, text: 'word '.repeat(16_000) } : draft))
    const outcome = await (await toolFixture(long)).run(hideTool, { path: 'tc:t1.t1c2.result', replacement_text: 'a page' })
    expect(outcome).toMatchObject({ ok: true, output: { status: 'ok', blocks_hidden: 1, tail_tokens: 0, tail_limit: 4_000 } })
  })

  it('tools 18.64: hiding a block before the cache point fails with an error and a notice, and changes nothing', async () => {
    const fixture = await toolFixture(rounds(8))
    const outcome = await fixture.run(hideTool, { path: 'tc:t1.t1c0.result', replacement: 'x' })
    expect(outcome).toMatchObject({
      ok: false,
      error: { code: 'hide_before_cache' },
      notices: [{ code: 'hide_before_cache' }],
      output: { status: 'too_old', before_cache: true, blocks_hidden: 0 },
    })
    expect(outcome).not.toHaveProperty('changes')
  })

  it('hiding a block that too many tokens follow fails', async () => {
    const long = rounds(6).map((draft) => (draft.path === 'tc:t1.t1c5.result' ? { ...draft, text: 'word '.repeat(2_000) } : draft))
    const outcome = await (await toolFixture(long, { editableTailTokens: 2_000 })).run(hideTool, { path: 'tc:t1.t1c4.result' })
    const { tail_tokens: after } = outcome.output as { tail_tokens: number }
    expect(after).toBeGreaterThan(2_000)
    expect(outcome).toMatchObject({
      ok: false,
      error: {
        code: 'hide_too_old',
        message: `tc:t1.t1c4.result can not be hidden: ${after} tokens come after it, and at most 2000 may.`,
      },
      notices: [{ code: 'hide_too_old' }],
      output: { status: 'too_old', tail_limit: 2_000 },
    })
    expect(await (await toolFixture(long)).run(hideTool, { path: 'tc:t1.t1c4.result' })).toMatchObject({ ok: true })
  })

  it('the error says which condition failed', async () => {
    const messageFor = async (path: string, turnId: string) => {
      const drafts = [...rounds(2), completion('done'), ...rounds(6, 't2')]
      return (await (await toolFixture(drafts, { turnId })).run(hideTool, { path })).error?.message
    }
    expect(await messageFor('ar:t1.assistant.completion', 't2')).toBe(
      'ar:t1.assistant.completion can not be hidden: it belongs to an earlier turn, and the provider has cached it.',
    )
    expect(await messageFor('tc:t2.t2c0.result', 't2')).toBe(
      'tc:t2.t2c0.result can not be hidden: it belongs to an earlier round, and the provider has cached it. Only the last few rounds can be changed.',
    )
  })

  it('accepts a path with the id of this conversation, and says that another conversation is out of reach', async () => {
    const fixture = await toolFixture(rounds(6))
    const outcome = await fixture.run(hideTool, { path: 'tc:conv_c1.t1.t1c5.result' })
    expect(outcome).toMatchObject({ ok: true, output: { path: 'tc:t1.t1c5.result', blocks_hidden: 1 } })
    const other = await fixture.run(hideTool, { path: 'tc:conv_c2.t1.t1c5.result' })
    expect(other).toMatchObject({ ok: false, error: { code: 'hide_not_found', message: expect.stringContaining('another conversation') } })
  })

  it.each([
    [{ path: 'tc:t1.nowhere.result' }, 'hide_not_found'],
    [{ path: '  ' }, 'missing_path'],
  ])('%j is refused: %s', async (params, code) => {
    expect(await (await toolFixture(rounds(3))).run(hideTool, params)).toMatchObject({ ok: false, error: { code } })
  })
})
