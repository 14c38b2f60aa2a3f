import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { journals } from '../../../test/support/generators/changes.ts'
import { blockOrigin, call, completion, header, minute, prompt, result, withIds } from '../../testing/blocks.ts'
import {
  artifactContentBlock,
  artifactDigestBlock,
  attachmentBlocks,
  type Draft,
  feedbackBlock,
  internalNoteBlock,
  isHidden,
  planBlock,
  toolResultBlock,
} from '../block/index.ts'
import { createEstimator } from '../estimate/estimate.ts'
import { roughTokens } from '../estimate/tokens.ts'
import { applyChange } from '../timeline/apply.ts'
import type { Change } from '../timeline/change.ts'
import { blockById, blocksOf, emptyTimeline, type Timeline } from '../timeline/timeline.ts'
import { defaultExpirySettings, type ExpiryPlan, type ExpirySettings, planExpiry } from './expiry.ts'

const tokens = createEstimator(roughTokens)
const blob = (size: number, name = 'a') => ({ sha256: name.repeat(64).slice(0, 64), size })

const response = (turnId: string, at: number, ttl?: number | null): Change => ({
  type: 'response.received',
  turn_id: turnId,
  ts: minute(at),
  iteration: 0,
  call_id: 'c',
  raw: '',
  finish_reason: 'stop',
  prompt: { ...(ttl !== undefined && { cache_ttl_seconds: ttl }) },
})
const timelineOf = (drafts: readonly Draft[], touch: Change | undefined = response('t1', 0)): Timeline =>
  [{ type: 'blocks.appended' as const, blocks: withIds(drafts) }, ...(touch ? [touch] : [])].reduce(applyChange, emptyTimeline())
const apply = (timeline: Timeline, plan: ExpiryPlan) => plan.changes.reduce(applyChange, timeline)
const plan = (timeline: Timeline, currentTurnId: string, settings: Partial<ExpirySettings> = {}, at = 60) =>
  planExpiry(timeline, { now: minute(at), currentTurnId, settings: { ...defaultExpirySettings, ...settings }, tokens })

const turn = (n: number, inside: readonly Draft[] = []): readonly Draft[] => {
  const id = `t${n}`
  return [header(id), prompt(`question ${n}`, id), ...inside, completion(`answer ${n}`, id)]
}
const turns = (count: number, inside: { readonly [n: number]: readonly Draft[] } = {}) =>
  Array.from({ length: count }, (_, i) => turn(i + 1, inside[i + 1])).flat()
const search = (n: number, text = '[{"sid":1,"url":"https://a.example","title":"A"}]') => [
  call(`s${n}`, 'web_tools.web_search', `t${n}`),
  toolResultBlock(blockOrigin(`s${n}`, `t${n}`), { mime: 'application/json', text }),
]
const written = (n: number, name = 'a.md', text = 'body') => {
  const digest = { artifact_path: `fi:t${n}.files/${name}`, mime: 'text/markdown' }
  return [
    call(`w${n}`, 'react.write', `t${n}`),
    artifactDigestBlock(blockOrigin(`w${n}`, `t${n}`), digest),
    artifactContentBlock(blockOrigin(`w${n}`, `t${n}`), { path: digest.artifact_path, mime: 'text/markdown', text, digest }),
  ]
}
const picture = (n: number, name: string, size = 1000) =>
  attachmentBlocks(`t${n}`, minute(n), { name, mime: 'image/png', size_bytes: size, blob: blob(size, name) })

const hiddenBlocks = (timeline: Timeline) => blocksOf(timeline).filter(isHidden)
const hiddenTurns = (timeline: Timeline) => [...new Set(hiddenBlocks(timeline).map(({ turn_id }) => turn_id))]

describe('the time of expiry', () => {
  it('nothing expires without a ttl, before the first response, while the cache is warm, or without blocks', () => {
    const timeline = timelineOf(turns(8))
    expect(plan(timeline, 't8', { ttlSeconds: null }).status).toBe('disabled')
    expect(plan(timeline, 't8', { ttlSeconds: 0 }).status).toBe('disabled')
    expect(plan({ ...timeline, cache: undefined } as unknown as Timeline, 't8').status).toBe('armed')
    expect(plan(timeline, 't8', {}, 4).status).toBe('fresh')
    expect(plan(applyChange(emptyTimeline(), response('t1', 0)), 't1').status).toBe('empty')
  })

  it('the cache counts as expired from ttl - buffer on', () => {
    const timeline = timelineOf(turns(8))
    const at = (seconds: number) => new Date(Date.parse(minute(0)) + seconds * 1000).toISOString()
    const status = (seconds: number) =>
      planExpiry(timeline, { now: at(seconds), currentTurnId: 't8', settings: defaultExpirySettings, tokens }).status
    expect([status(289.9), status(290)]).toEqual(['fresh', 'pruned'])
  })

  it('timeline 11.82: the first render after load uses the stored ttl, and the configured one counts from the next response', () => {
    const loaded = timelineOf(turns(8), response('t7', 0, 3600))
    expect(plan(loaded, 't8', { ttlSeconds: 300 }, 30).status).toBe('fresh')
    const later = applyChange(loaded, response('t8', 30, 300))
    expect(plan(later, 't9', { ttlSeconds: 300 }, 60).status).toBe('pruned')
  })
})

describe('expired blocks', () => {
  it('timeline 11.73: of 8 turns the first two are hidden, the last is untouched, and in between only search results are hidden', () => {
    const before = timelineOf(turns(8, { 1: written(1), 5: [...search(5), ...written(5)], 8: search(8) }))
    const planned = plan(before, 't8')
    const after = apply(before, planned)
    expect(planned.status).toBe('pruned')
    expect(hiddenTurns(after)).toEqual(['t1', 't2', 't5'])
    const [found, ...others] = hiddenBlocks(after).filter(({ turn_id }) => turn_id === 't5')
    expect([found?.path, found?.meta?.hidden_scope, found?.meta?.hidden_reason, others]).toEqual([
      'tc:t5.s5.result',
      'recent',
      'cache_ttl_light',
      [],
    ])
    expect(
      hiddenBlocks(after)
        .filter(({ turn_id }) => turn_id === 't1')
        .map(({ meta }) => meta?.hidden_scope),
    ).toEqual(Array(5).fill('old_turn'))
  })

  it('timeline 11.74: with fewer turns than are kept only cheap content is hidden', () => {
    expect(plan(timelineOf(turns(3)), 't3').status).toBe('no_effect')
    expect(plan(timelineOf(turns(3, { 2: search(2) })), 't3').status).toBe('pruned_light')
  })

  it('timeline 11.76: of three images in recent turns the oldest is hidden', () => {
    const before = timelineOf(turns(5, { 2: picture(2, 'a'), 3: picture(3, 'b'), 4: picture(4, 'c') }))
    const after = apply(before, plan(before, 't5'))
    expect(hiddenBlocks(after).map(({ path, type }) => [path, type])).toEqual([['fi:t2.user.attachments/a', 'user.attachment']])
  })

  it('an image is counted once, however often it was attached', () => {
    const large = picture(3, 'a', 400_000)
    const again = large.map((block): Draft => ({ ...block, turn_id: 't4' }))
    const before = timelineOf(turns(5, { 2: picture(2, 'b'), 3: large, 4: again }))
    expect(plan(before, 't5').status).toBe('no_effect')
  })

  it('the newest image is kept whatever its size, a second one only within the total size', () => {
    const before = timelineOf(turns(4, { 2: picture(2, 'a', 10), 3: picture(3, 'b', 900_000) }))
    expect(hiddenBlocks(apply(before, plan(before, 't4'))).map(({ path }) => path)).toEqual(['fi:t2.user.attachments/a'])
  })

  it('other large bytes and skill texts of recent turns are hidden', () => {
    const zip = { ...(picture(2, 'a', 9000)[1] as Draft), mime: 'application/zip' }
    const skill = { ...toolResultBlock(blockOrigin('r', 't2'), { mime: 'text/markdown', text: 'how to' }), path: 'sk:public.pdf' }
    const before = timelineOf(turns(4, { 2: [zip, call('r', 'react.read', 't2'), skill] }))
    expect(hiddenBlocks(apply(before, plan(before, 't4'))).map(({ path }) => path)).toEqual(['fi:t2.user.attachments/a', 'sk:public.pdf'])
  })

  it('timeline 11.77: a file of an old turn that was read again in the current one stays visible there', () => {
    const copy = { ...result('r1', 'body', 't8'), path: 'fi:t1.files/a.md' }
    const before = timelineOf([...turns(7, { 1: written(1) }), header('t8'), prompt('again', 't8'), call('r1', 'react.read', 't8'), copy])
    const after = apply(before, plan(before, 't8'))
    const group = blocksOf(after).filter(({ path }) => path === 'fi:t1.files/a.md')
    expect(group.map(({ turn_id, meta }) => [turn_id, meta?.hidden ?? false])).toEqual([
      ['t1', true],
      ['t8', false],
    ])
  })

  it('headers, notes, plans and feedback are never hidden', () => {
    const lasting = [
      internalNoteBlock(blockOrigin('n', 't1'), 'fi:t1.files/n.md', '[P] short answers'),
      planBlock('t1', minute(1), { plan_id: 'p1', steps: ['a'], status: {} }),
      call('pl', 'react.plan', 't1'),
      feedbackBlock('t1', minute(1), { text: 'good', origin: 'user' }),
    ]
    const before = timelineOf(turns(8, { 1: lasting }))
    const after = apply(before, plan(before, 't8'))
    const seen = blocksOf(after).filter((block) => block.turn_id === 't1' && !isHidden(block))
    expect(seen.map(({ type }) => type)).toEqual(['turn.header', 'react.note', 'react.plan', 'react.tool.call', 'turn.feedback'])
  })

  it('the current turn is never changed, wherever its blocks are in the timeline', () => {
    fc.assert(
      fc.property(journals(), fc.constantFrom('t1', 't2', 't3'), (changes, current) => {
        const before = [...changes, response('t1', 0)].reduce(applyChange, emptyTimeline())
        const after = apply(before, plan(before, current, { keepRecentTurns: 0, keepIntactTurns: 0 }, 10_000))
        const of = (timeline: Timeline) =>
          blocksOf(timeline).filter((block) => block.turn_id === current && block.meta?.kind !== 'cache_ttl_pruned')
        expect(of(after)).toEqual(of(before))
      }),
    )
  })

  it('timeline 11.79: a second pass plans no changes, and planning does not change the timeline', () => {
    fc.assert(
      fc.property(journals(), fc.constantFrom('t1', 't2', 't4'), fc.integer({ min: 0, max: 3 }), (changes, current, keepRecentTurns) => {
        const before = [...changes, response('t1', 0)].reduce(applyChange, emptyTimeline())
        const seen = structuredClone(blocksOf(before))
        const first = plan(before, current, { keepRecentTurns }, 10_000)
        expect(blocksOf(before)).toEqual(seen)
        expect(plan(apply(before, first), current, { keepRecentTurns }, 10_001).changes).toEqual([])
      }),
    )
  })

  it('a block that the agent hid keeps its replacement text', () => {
    const before = applyChange(timelineOf(turns(8)), { type: 'blocks.hidden', ids: ['b_2'], replacement_text: 'mine', reason: 'hide' })
    expect(blockById(apply(before, plan(before, 't8')), 'b_2')?.meta).toMatchObject({ replacement_text: 'mine', hidden_reason: 'hide' })
  })
})

describe('the notice', () => {
  it('is one system.message in the current turn, with the next block id, and says what to do', () => {
    const before = timelineOf(turns(8))
    const notice = plan(before, 't8').changes.at(-1)
    expect(notice).toMatchObject({
      type: 'blocks.appended',
      blocks: [
        { id: `b_${before.nextBlock}`, type: 'system.message', turn_id: 't8', path: 'ar:t8.system.message.cache_pruned', ts: minute(60) },
      ],
    })
    expect(notice).toMatchObject({ blocks: [{ meta: { kind: 'cache_ttl_pruned', ttl_seconds: 300 } }] })
    expect(JSON.stringify(notice)).toMatch(/idle longer than 300s.*logical paths.*visible first.*react\.read\(\[path\]\)/)
  })

  it('is not repeated in one turn, and an old one is hidden with its turn', () => {
    const once = timelineOf(turns(8))
    const pruned = apply(once, plan(once, 't8'))
    const more = applyChange(pruned, { type: 'blocks.appended', blocks: withIds(turn(9).slice(0, 2), pruned.nextBlock) })
    const second = plan(more, 't9')
    expect(second.changes.filter(({ type }) => type === 'blocks.appended')).toHaveLength(1)
    const rest = plan(apply(more, second), 't9', { keepRecentTurns: 1 })
    expect(rest.changes.some(({ type }) => type === 'blocks.appended')).toBe(false)
    const oldNotice = rest.changes.find(
      (change) => change.type === 'blocks.hidden' && change.replacement_text.startsWith('An older notice'),
    )
    expect(oldNotice).toBeDefined()
  })
})
