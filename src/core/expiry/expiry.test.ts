import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { journals } from '../../../test/support/generators/changes.ts'
import { blockOrigin, call, completion, header, minute, prompt, result, withIds } from '../../testing/blocks.ts'
import {
  artifactContentBlock,
  artifactDigestBlock,
  attachmentBlocks,
  type Block,
  type Draft,
  decisionNotesBlock,
  feedbackBlock,
  internalNoteBlock,
  isHidden,
  planBlock,
  toolResultBlock,
} from '../block/index.ts'
import { createEstimator } from '../estimate/estimate.ts'
import { roughTokens } from '../estimate/tokens.ts'
import { cutText, shortenJson } from '../render/shorten.ts'
import { applyChange } from '../timeline/apply.ts'
import type { Change } from '../timeline/change.ts'
import { blockById, blocksOf, emptyTimeline, type Timeline } from '../timeline/timeline.ts'
import { defaultExpirySettings, type ExpiryPlan, type ExpirySettings, planExpiry } from './expiry.ts'
import { draftReplacement, type ExpiryGroup, replacementText } from './replacement.ts'

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

describe('replacement texts', () => {
  const group = (drafts: readonly Draft[], toolId?: string): ExpiryGroup => {
    const blocks = withIds(drafts)
    return { path: blocks.at(-1)?.path as string, blocks, toolId }
  }
  const settings = defaultExpirySettings
  const callWith = (params: object): Draft => ({ ...call('c1'), text: JSON.stringify({ tool_id: 'x.y', tool_call_id: 'c1', params }) })

  it('timeline 11.80: a ref: stays whole, another string is cut at the field limit and the call says so', () => {
    const ref = `ref:fi:t1.files/${'x'.repeat(1500)}`
    const text = draftReplacement(group([callWith({ ref, long: 'y'.repeat(1500), short: 'z' })]), settings)
    expect(JSON.parse(text)).toEqual({
      tool_id: 'x.y',
      tool_call_id: 'c1',
      params: { ref, long: `${'y'.repeat(1000)}...[truncated]`, short: 'z' },
      truncated: true,
    })
  })

  it('cuts lists and objects and says how much is gone', () => {
    expect(shortenJson({ a: [1, 2, 3], b: { x: 1, y: 2, z: 3 } }, { text: 9, items: 2, keys: 2 })).toEqual({
      value: { a: [1, 2, '... (1 more)'], b: { x: 1, y: 2, '...': '1 more keys' } },
      truncated: true,
    })
    expect(shortenJson([1, 'ok'], { text: 9, items: 2, keys: 2 })).toEqual({ value: [1, 'ok'], truncated: false })
  })

  it('accepts deeply nested JSON, and never splits a surrogate pair', () => {
    const deep = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`)
    expect(JSON.stringify(shortenJson(deep, { text: 9, items: 2, keys: 2 }).value)).toContain('[truncated]')
    expect(cutText('ab😀c', 3)).toBe('ab...[truncated]')
  })

  it('keeps every digest of a call, without hosting handles', () => {
    const digest = (name: string) => ({ artifact_path: `fi:t1.files/${name}`, mime: 'text/csv' })
    const leaky = { ...result('c1', JSON.stringify({ ...digest('c'), hosted_uri: 's3://secret' })), mime: 'application/json' }
    const text = draftReplacement(
      group([artifactDigestBlock(blockOrigin('c1'), digest('a')), artifactDigestBlock(blockOrigin('c1'), digest('b')), leaky]),
      settings,
    )
    expect(text.split('\n').map((line) => JSON.parse(line).artifact_path)).toEqual(['fi:t1.files/a', 'fi:t1.files/b', 'fi:t1.files/c'])
    expect(text).not.toContain('secret')
  })

  it('names the artifacts of a call whose report is hidden with them', () => {
    const text = draftReplacement(
      group(
        [artifactDigestBlock(blockOrigin('c1'), { artifact_path: 'fi:t1.outputs/a.csv' }), result('c1', 'exec report')],
        'exec_tools.execute_code_python',
      ),
      settings,
    )
    expect(JSON.parse(text)).toEqual({
      tool_id: 'exec_tools.execute_code_python',
      tool_call_id: 'c1',
      result: 'exec report',
      artifacts: ['fi:t1.outputs/a.csv'],
    })
  })

  it('reduces rows and search hits to the fields that are needed to find them again', () => {
    const rows = [{ sid: 1, url: 'u', title: 't', content: 'c'.repeat(500), favicon: 'f' }]
    const row = JSON.parse(draftReplacement(group([result('c1', JSON.stringify(rows))], 'web_tools.web_fetch'), settings)).result[0]
    expect(row).toEqual({ sid: 1, url: 'u', title: 't', content_preview: `${'c'.repeat(320)}...[truncated]`, content_length: 500 })
    const hits = {
      hits: [{ turn_id: 't1', score: 1, secret: 1, snippets: [{ role: 'user', path: 'ar:t1.user.prompt', text: 'x', extra: 1 }] }],
    }
    const hit = JSON.parse(draftReplacement(group([result('c1', JSON.stringify(hits))], 'react.memsearch'), settings)).result
    expect(hit).toEqual({ hits: [{ turn_id: 't1', score: 1, snippets: [{ role: 'user', path: 'ar:t1.user.prompt', text: 'x' }] }] })
  })

  it('names a file by path, type, size and summary', () => {
    const attached = attachmentBlocks('t1', minute(0), { name: 'm.pdf', mime: 'application/pdf', size_bytes: 42, summary: 'the\nmenu' })
    expect(draftReplacement(group(attached), settings)).toBe(
      '[TRUNCATED FILE] path=fi:t1.user.attachments/m.pdf mime=application/pdf size=42 summary=the menu',
    )
    expect(draftReplacement(group([prompt('hello')]), settings)).toBe('[TRUNCATED] hello')
    expect(replacementText(group([decisionNotesBlock(blockOrigin('c1'), 'I look')]), settings, tokens)).toBe('')
  })

  it('fit their bound: first with long parts cut, then as a few lines, then as the path alone', () => {
    const fold = (params: object, max = 240) =>
      replacementText(group([callWith(params)]), { ...settings, replacementMaxTokens: max }, tokens)
    expect(JSON.parse(fold({ long: 'y'.repeat(1500) })).params.long).toBe(`${'y'.repeat(320)}...[truncated]`)
    const many = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`k${i}`, 'v'.repeat(400)]))
    expect(fold(many).split('\n')[0]).toBe('tool_id: x.y')
    expect(fold(many, 1)).toBe('[TRUNCATED] path=tc:t1.c1.call')
  })

  it('never exceed the bound, whatever is hidden', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.integer({ min: 0, max: 400 }), (value, max) => {
        const one: readonly Block[] = withIds([result('c1', JSON.stringify(value))])
        const text = replacementText(
          { path: 'tc:t1.c1.result', blocks: one, toolId: 'x.y' },
          { ...settings, replacementMaxTokens: max },
          tokens,
        )
        const original = tokens.content(one[0] as Block)
        expect(roughTokens(text)).toBeLessThanOrEqual(Math.max(24, Math.min(max, Math.max(original + 64, 2 * original))))
      }),
    )
  })
})
