import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sliceOf } from '../../../test/support/prompts/shown-blocks.ts'
import { timelineOf } from '../../../test/support/prompts/timelines.ts'
import { blockOrigin, call, completion, result, rounds } from '../../testing/blocks.ts'
import { type Draft, isHidden, toolResultBlock } from '../block/index.ts'
import { roughTokens } from '../estimate/tokens.ts'
import { cachePoints, defaultCachePolicy } from '../render/cache-points.ts'
import { applyChange } from '../timeline/apply.ts'
import { blockAt, blocksAtPath, blocksOf, type Timeline } from '../timeline/timeline.ts'
import { type HidePlan, planHide } from './hide.ts'

const limits = { tokens: roughTokens, tailTokens: 2_000 }

function hide(timeline: Timeline, path: string, text = 'seen, not needed', turnId = 't1', tailTokens = limits.tailTokens): HidePlan {
  const slice = sliceOf(timeline, turnId)
  return planHide(slice, cachePoints(slice, defaultCachePolicy), { path, replacement_text: text }, { ...limits, tailTokens })
}

function applied(timeline: Timeline, plan: HidePlan): Timeline {
  if (!plan.ok) throw new Error(`not hidden: ${plan.status}`)
  return applyChange(timeline, plan.change)
}

const textsOf = (timeline: Timeline, turnId = 't1') =>
  sliceOf(timeline, turnId).shown.map(({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : part.blob.sha256)).join('\n'))

/** Six rounds. The last result has 100 tokens. */
const six = [...rounds(5), call('last', 'web_tools.web_search', 't1', 5), result('last', 'x'.repeat(400), 't1', 5)]

describe('react.hide', () => {
  it('refuses a path before the pre-tail point', () => {
    expect(hide(timelineOf(rounds(6)), 'tc:t1.t1c0.result')).toEqual({
      ok: false,
      status: 'too_old',
      notice: 'hide_before_cache',
      reason: 'earlier_rounds',
      report: { path: 'tc:t1.t1c0.result', status: 'too_old', before_cache: true, blocks_hidden: 0, tokens_hidden: 0, tail_limit: 2_000 },
    })
  })

  it('timeline 11.61: refuses the block that carries the pre-tail mark, and accepts the next one', () => {
    const timeline = timelineOf(rounds(6))
    expect(hide(timeline, 'tc:t1.t1c1.result')).toMatchObject({ status: 'too_old', notice: 'hide_before_cache' })
    expect(hide(timeline, 'tc:t1.t1c2.call')).toMatchObject({ ok: true })
  })

  it('timeline 11.62: replaces the last result by one line with the given text', () => {
    const timeline = timelineOf(six)
    const plan = hide(timeline, 'tc:t1.last.result', 'three rows, none useful')
    expect(plan).toMatchObject({ ok: true, report: { path: 'tc:t1.last.result', status: 'ok', blocks_hidden: 1, tail_limit: 2_000 } })
    const before = textsOf(timeline)
    const after = textsOf(applied(timeline, plan))
    expect(after.slice(0, -1)).toEqual(before.slice(0, -1))
    expect(after.at(-1)).toBe('HIDDEN — three rows, none useful. Retrieve with react.read(tc:t1.last.result)')
  })

  it('reports how many tokens it saved and how many come after the block', () => {
    const timeline = timelineOf(six)
    const shown = sliceOf(timeline, 't1').shown.at(-1)
    const text = shown?.parts[0]?.type === 'text' ? shown.parts[0].text : ''
    const line = 'HIDDEN — gone. Retrieve with react.read(tc:t1.last.result)'
    expect(hide(timeline, 'tc:t1.last.result', 'gone').report).toMatchObject({
      tokens_hidden: roughTokens(text) - roughTokens(line),
      tail_tokens: 0,
    })
    expect(hide(timeline, 'tc:t1.last.call').report.tail_tokens).toBe(roughTokens(text))
  })

  it('hides a block of any size when nothing comes after it', () => {
    const huge = result('huge', 'many words '.repeat(20_000), 't1', 5)
    const timeline = timelineOf([...rounds(5), call('huge', 'x', 't1', 5), huge])
    const plan = hide(timeline, 'tc:t1.huge.result', 'a long page', 't1', 0)
    expect(plan).toMatchObject({ ok: true, report: { blocks_hidden: 1, tail_tokens: 0 } })
    expect(plan.report.tokens_hidden).toBeGreaterThan(3_000) // the prompt showed only the beginning of the result
  })

  it('judges each block of a group by what comes after it', () => {
    const [one, two] = ['one ', 'two '].map((word) => result('g', word.repeat(2_500), 't1', 1)) as [Draft, Draft]
    const timeline = timelineOf([...rounds(1), call('g', 'x', 't1', 1), one, two])
    const { tail_tokens: afterCall = 0 } = hide(timeline, 'tc:t1.g.call', 'x', 't1', 1e9).report
    const hiddenWithin = (limit: number) => {
      const plan = hide(timeline, 'tc:t1.g.result', 'x', 't1', limit)
      return plan.ok && blocksAtPath(applied(timeline, plan), 'tc:t1.g.result').map(isHidden)
    }
    expect(hiddenWithin(0)).toEqual([false, true])
    expect(hiddenWithin(afterCall / 2 - 1)).toEqual([false, true])
    expect(hiddenWithin(afterCall / 2)).toEqual([true, true])
  })

  it('refuses a path that is too many tokens away from the end', () => {
    const timeline = timelineOf([...six, call('big', 'x', 't1', 6), result('big', 'many words '.repeat(900), 't1', 6)])
    expect(hide(timeline, 'tc:t1.last.result')).toMatchObject({
      ok: false,
      status: 'too_old',
      notice: 'hide_too_old',
      report: { status: 'too_old', blocks_hidden: 0, tail_limit: 2_000 },
    })
    expect(hide(timeline, 'tc:t1.last.result').report.before_cache).toBeUndefined()
    expect(hide(timeline, 'tc:t1.last.result').report.tail_tokens).toBeGreaterThan(2_250)
  })

  it('timeline 11.64: reports not_found for an unknown path', () => {
    expect(hide(timelineOf(rounds(2)), 'fi:t1.files/none.md')).toEqual({
      ok: false,
      status: 'not_found',
      report: { path: 'fi:t1.files/none.md', status: 'not_found', blocks_hidden: 0, tokens_hidden: 0, tail_limit: 2_000 },
    })
    expect(hide(timelineOf(rounds(2)), 'find the old report')).toMatchObject({ status: 'not_found' })
  })

  it('timeline 11.65, tools 18.65: a group of three blocks leaves one line', () => {
    const group = ['one', 'two', 'three'].map((text) => result('g', text, 't1', 1))
    const timeline = timelineOf([...rounds(1), call('g', 'x', 't1', 1), ...group])
    const plan = hide(timeline, 'tc:t1.g.result', 'three things')
    expect(plan.report.blocks_hidden).toBe(3)
    const hidden = applied(timeline, plan)
    expect(blocksAtPath(hidden, 'tc:t1.g.result').every(isHidden)).toBe(true)
    expect(blocksAtPath(hidden, 'tc:t1.g.result').map(({ meta }) => meta?.replacement_text)).toEqual(['three things', undefined, undefined])
    expect(textsOf(hidden).filter((text) => text.includes('HIDDEN'))).toHaveLength(1)
  })

  it('hides only those blocks of a group that lie in the editable tail', () => {
    const early = result('g', 'early', 't1', 0)
    const late = { ...result('g', 'late', 't1', 7), call_id: 'again', meta: { tool_call_id: 'again', iteration: 7 } }
    const timeline = timelineOf([...rounds(0), call('g'), early, ...rounds(6).slice(2), call('again', 'x', 't1', 7), late])
    const plan = hide(timeline, 'tc:t1.g.result')
    expect(plan.report.blocks_hidden).toBe(1)
    expect(blocksAtPath(applied(timeline, plan), 'tc:t1.g.result').map(isHidden)).toEqual([false, true])
  })

  it('refuses a path of the previous turn, even after the pre-tail point', () => {
    const timeline = timelineOf([...rounds(2), completion('done'), ...rounds(1, 't2')])
    expect(hide(timeline, 'ar:t1.assistant.completion', 'x', 't2')).toMatchObject({ notice: 'hide_before_cache', reason: 'previous_turns' })
    expect(hide(timeline, 'ar:t2.user.prompt', 'x', 't2')).toMatchObject({ ok: true })
  })

  it('may edit everything within the token limit while there is no cache point', () => {
    expect(hide(timelineOf(rounds(1)), 'ar:t1.user.prompt')).toMatchObject({ ok: true })
  })

  it('accepts the older spelling of a path, in the request and in the block', () => {
    const older = { ...result('c', 'imported', 't1', 1), path: 'tc:t1.tool_calls.c.out.json' }
    const timeline = timelineOf([...rounds(1), call('c', 'x', 't1', 1), older])
    expect(hide(timeline, 'tc:t1.c.result')).toMatchObject({ ok: true, report: { path: 'tc:t1.c.result', blocks_hidden: 1 } })
    expect(hide(timelineOf(rounds(1)), 'tc:t1.tool_calls.t1c0.out.json')).toMatchObject({ ok: true, report: { path: 'tc:t1.t1c0.result' } })
  })

  it('finds the rows of a search by the selector that the model was shown', () => {
    const rows = JSON.stringify([3, 5, 6].map((sid) => ({ sid, title: `row ${sid}`, url: `https://example.com/${sid}` })))
    const found = toolResultBlock(blockOrigin('s', 't1', 1), { mime: 'application/json', text: rows })
    const timeline = timelineOf([...rounds(1), call('s', 'web_tools.web_search', 't1', 1), found])
    expect(textsOf(timeline).at(-1)).toContain('so:sources_pool[3, 5-6]')
    const plan = hide(timeline, 'so:sources_pool[3,5,6]', 'three pages')
    expect(plan).toMatchObject({ ok: true, report: { path: 'so:sources_pool[3, 5-6]', blocks_hidden: 1 } })
    expect(textsOf(applied(timeline, plan)).at(-1)).toBe('HIDDEN — three pages. Retrieve with react.read(tc:t1.s.result)')
    expect(hide(timeline, 'so:sources_pool[3]')).toMatchObject({ status: 'not_found' })
  })

  it('hiding a hidden path again only replaces the text', () => {
    const once = applied(timelineOf(six), hide(timelineOf(six), 'tc:t1.last.result', 'first words'))
    const plan = hide(once, 'tc:t1.last.result', 'better words')
    expect(plan).toMatchObject({ ok: true, report: { status: 'ok', blocks_hidden: 0, tokens_hidden: 0 } })
    expect(textsOf(applied(once, plan)).at(-1)).toBe('HIDDEN — better words. Retrieve with react.read(tc:t1.last.result)')
  })

  it.each(['', '  \n '])('says "content removed" when the text is blank (%j)', (text) => {
    const timeline = timelineOf(six)
    expect(textsOf(applied(timeline, hide(timeline, 'tc:t1.last.result', text))).at(-1)).toBe(
      'HIDDEN — content removed. Retrieve with react.read(tc:t1.last.result)',
    )
  })

  it('keeps at most 400 characters of the text, never half a surrogate pair', () => {
    const plan = hide(timelineOf(six), 'tc:t1.last.result', '🙂'.repeat(500))
    expect(plan.ok && plan.change.replacement_text).toBe('🙂'.repeat(400))
  })

  it('hides up to the token limit, and not one token further', () => {
    const timeline = timelineOf(six)
    const { tail_tokens: distance = 0 } = hide(timeline, 'tc:t1.last.call').report
    expect(hide(timeline, 'tc:t1.last.call', 'x', 't1', distance)).toMatchObject({ ok: true })
    expect(hide(timeline, 'tc:t1.last.call', 'x', 't1', distance - 1)).toMatchObject({ notice: 'hide_too_old', reason: 'tail_tokens' })
  })

  it('hides exactly the blocks beyond the frozen marks that at most the limit of tokens follow, and never changes the frozen part', () => {
    const sizes = fc.array(fc.constantFrom(10, 400, 3_000, 12_000), { maxLength: 9 })
    const numRuns = 300
    const outcomes = { ok: 0, hide_before_cache: 0, hide_too_old: 0 }
    fc.assert(
      fc.property(sizes, sizes, fc.nat(), fc.integer({ min: 0, max: 8_000 }), (before, now, chosen, tailTokens) => {
        const round = (turnId: string) => (size: number, i: number) => [
          call(`${turnId}k${i % 3}`, 'x', turnId, i),
          // Paths repeat, so that blocks at one path lie before and after the cache points.
          result(`${turnId}k${i % 3}`, 'so on '.repeat(size / 6), turnId, i),
        ]
        const past = before.length > 0 ? [...rounds(0), ...before.flatMap(round('t1')), completion('done')] : []
        const timeline = timelineOf([...past, ...rounds(0, 't2'), ...now.flatMap(round('t2'))])
        const path = blockAt(timeline, chosen % timeline.size)?.path ?? 'ar:t2.user.prompt'
        const slice = sliceOf(timeline, 't2')
        const { preTail = -1, prevTurn = -1 } = cachePoints(slice, defaultCachePolicy)
        const tokensAt = slice.shown.map(({ parts }) =>
          parts.reduce((sum, part) => sum + (part.type === 'text' ? roughTokens(part.text) : 0), 0),
        )
        const group = slice.shown.flatMap(({ block }, at) =>
          block.path === path ? [{ id: block.id, at, after: tokensAt.slice(at + 1).reduce((sum, tokens) => sum + tokens, 0) }] : [],
        )
        const expected = group.filter(({ at, after }) => at > preTail && at > prevTurn && after <= tailTokens).map(({ id }) => id)

        const plan = hide(timeline, path, 'x', 't2', tailTokens)
        expect(plan.ok ? plan.change.ids : []).toEqual(expected)
        expect(plan.report.blocks_hidden).toBe(expected.length)
        outcomes[plan.ok ? 'ok' : (plan.notice ?? 'ok')]++
        const frozen = Math.max(preTail, prevTurn) + 1
        if (!plan.ok) {
          expect(plan.notice).toBe((group.at(-1)?.at ?? -1) < frozen ? 'hide_before_cache' : 'hide_too_old')
          return
        }
        const next = sliceOf(applied(timeline, plan), 't2')
        expect(next.shown.slice(0, frozen)).toEqual(slice.shown.slice(0, frozen))
        expect(blocksOf(applied(timeline, plan)).filter(isHidden)).toHaveLength(expected.length)
      }),
      { numRuns },
    )
    for (const count of Object.values(outcomes)) expect(count).toBeGreaterThan(numRuns / 20)
  })
})
