import { describe, expect, it } from 'vitest'
import { compact, noteDrafts, open, planDraft, turn, turns } from '../../../test/support/prompts/compaction.ts'
import { timelineOf, withDrafts } from '../../../test/support/prompts/timelines.ts'
import { blockOrigin, call, completion, header, minute, ofUnknownType, prompt, result, withIds } from '../../testing/blocks.ts'
import {
  artifactContentBlock,
  artifactDigestBlock,
  type Block,
  type Draft,
  noticeBlock,
  toolResultBlock,
  userEventBlock,
} from '../block/index.ts'
import { applyChange } from './apply.ts'
import { type BlockHistory, type Resolution, resolvePath } from './resolve.ts'
import { blocksOf, type Timeline } from './timeline.ts'
import { turnIndexText } from './turn-log.ts'

const historyOf = (...timelines: readonly Timeline[]): BlockHistory => {
  const blocks = [...new Map(timelines.flatMap((timeline) => blocksOf(timeline)).map((block) => [block.id, block])).values()]
  return {
    atPath: (path) => blocks.filter((block) => block.path === path),
    ofTurn: (turnId) => blocks.filter(({ turn_id }) => turn_id === turnId),
  }
}
const emptyHistory: BlockHistory = { atPath: () => [], ofTurn: () => [] }
const notLoaded: BlockHistory = { atPath: () => undefined, ofTurn: () => undefined }
const written = (path: string, text: string, callId = 'w1') => [
  call(callId, 'react.write', 't1', 7),
  artifactDigestBlock(blockOrigin(callId, 't1', 7), { artifact_path: path, mime: 'text/markdown', kind: 'display' }),
  artifactContentBlock(blockOrigin(callId, 't1', 7), { path, mime: 'text/markdown', text, digest: { artifact_path: path } }),
]
const textOf = (resolved: Resolution): string | undefined => {
  if (resolved.status === 'blocks') return resolved.blocks.at(-1)?.text
  if (resolved.status === 'artifact') return resolved.artifact.text
  return resolved.status === 'view' ? resolved.text : undefined
}

describe('a patched artifact', () => {
  const path = 'fi:t1.files/a.md'
  const whole = { sha256: 'a'.repeat(64), size: 5 }
  const patched = (meta: object) => {
    const digest = { artifact_path: path, mime: 'text/html', visibility: 'internal' as const }
    return [
      artifactDigestBlock(blockOrigin('p1', 't1', 8), digest),
      artifactContentBlock(blockOrigin('p1', 't1', 8), {
        path,
        mime: 'text/markdown',
        text: '@@ -1 +1 @@',
        digest,
        meta: { is_patch: true, ...meta },
      }),
    ]
  }
  const resolved = (meta: object, ...after: readonly Draft[]) => {
    const found = resolvePath(timelineOf([...written(path, 'old'), ...patched(meta), ...after]), path, emptyHistory)
    return found.status === 'artifact' ? found.artifact : undefined
  }

  it('has the patched bytes, and neither the diff nor the old text', () => {
    expect(resolved({ keeps: [whole], visibility: 'external' })).toMatchObject({
      blob: whole,
      callId: 'p1',
      metadata: { mime: 'text/html' },
    })
    expect(resolved({ keeps: [whole], visibility: 'external' })).not.toHaveProperty('text')
    expect(resolved({})).not.toHaveProperty('text')
  })

  it('has the visibility of its content block, not that of the digest of the patch', () => {
    expect(resolved({ visibility: 'external' })?.metadata.visibility).toBe('external')
    expect(resolved({ visibility: 'internal' })?.metadata.visibility).toBe('internal')
  })

  it('has text again when it is rewritten', () => {
    expect(resolved({ keeps: [whole] }, ...written(path, 'new', 'w2'))).toMatchObject({ text: 'new', callId: 'w2' })
    expect(resolved({ keeps: [whole] }, ...written(path, 'new', 'w2'))).not.toHaveProperty('blob')
  })
})

describe('a path leads', () => {
  const plan = planDraft('plan:t1:ab', ['boil', 'pour'], 't1', { current: true })
  const before = timelineOf([
    ...turn(1, 1, [...written('fi:t1.files/a.md', 'tea'), ...noteDrafts('t1', 'n', '[P] milk'), plan]),
    ...turns(2, 6),
    ...open(7),
  ])
  const { timeline } = compact(before, { limit: 900 })
  const history = historyOf(before, timeline)

  it('to visible blocks, without a lookup in the journal', () => {
    expect(textOf(resolvePath(before, 'ar:t1.user.prompt', notLoaded))).toBe('question 1')
    expect(textOf(resolvePath(before, 'tc:t1.tool_calls.t1c0.out.json', notLoaded))).toContain('result 0 of t1')
    expect(resolvePath(before, 'fi:t1.files/a.md', notLoaded)).toMatchObject({
      status: 'artifact',
      artifact: { text: 'tea', toolId: 'react.write' },
    })
    expect(textOf(resolvePath(timeline, 'ar:plan.latest:plan:t1:ab', notLoaded))).toContain('boil')
  })

  it('to the program of a call, in the current and the older form of its path', () => {
    const code: Draft = { type: 'react.tool.code', author: 'react', turn_id: 't1', ts: minute(0), text: 'print()' }
    for (const path of ['tc:t1.c1.code', 'fi:t1.code.c1']) {
      const timeline = timelineOf([{ ...code, path }])
      expect(textOf(resolvePath(timeline, 'tc:t1.c1.code', emptyHistory))).toBe('print()')
      expect(textOf(resolvePath(timeline, 'fi:t1.code.c1', emptyHistory))).toBe('print()')
    }
  })

  it('to a hidden block', () => {
    const hidden = applyChange(before, { type: 'blocks.hidden', ids: ['b_2'], replacement_text: 'x', reason: 'hide' })
    expect(textOf(resolvePath(hidden, 'ar:t1.user.prompt', notLoaded))).toBe('question 1')
  })

  it('to compacted blocks after a lookup in the journal, and returns what to look up', () => {
    expect(resolvePath(timeline, 'ar:t1.user.prompt', notLoaded)).toEqual({ status: 'lookup_needed', at: { path: 'ar:t1.user.prompt' } })
    expect(textOf(resolvePath(timeline, 'ar:t1.user.prompt', history))).toBe('question 1')
    expect(resolvePath(timeline, 'fi:t1.files/a.md', history)).toMatchObject({
      status: 'artifact',
      from: 'history',
      artifact: { text: 'tea' },
    })
    expect(resolvePath(timeline, 'ar:t1.react.turn.index', notLoaded)).toEqual({ status: 'lookup_needed', at: { turn: 't1' } })
  })

  it('timeline 11.106: every path of a compacted turn can be read', () => {
    for (const path of ['ar:t1.user.prompt', 'ar:t1.assistant.completion', 'tc:t1.t1c0.call', 'tc:t1.t1c0.result', 'fi:t1.files/n.md'])
      expect([path, resolvePath(timeline, path, history).status]).not.toEqual([path, 'missing'])
  })

  it('to the complete index of a summary', () => {
    const text = textOf(resolvePath(timeline, `su:${blocksOf(timeline)[0]?.turn_id}.conv.range.summary`, notLoaded)) ?? ''
    expect(text).toContain('- fi:t1.files/a.md | text/markdown | display | react.write | w1')
    expect(text).toContain('- ar:t1.user.prompt | 2026-01-01T00:01:00.000Z | question 1')
    expect(text).toContain('- ar:plan.latest:plan:t1:ab | ar:t1.react.plan.plan:t1:ab | unfinished')
  })

  it('to an artifact that only the index of a summary mentions', () => {
    const gone = compact(timelineOf([...turn(1, 1, written('fi:t1.files/a.md', 'tea').slice(0, 2)), ...turns(2, 6), ...open(7)]), {
      limit: 900,
    }).timeline
    expect(resolvePath(gone, 'fi:t1.files/a.md', emptyHistory)).toMatchObject({
      status: 'artifact',
      from: 'digest',
      artifact: { metadata: { mime: 'text/markdown' } },
    })
  })

  it('to the original rather than to a preserved copy', () => {
    const followup = userEventBlock('followup', 't1', minute(1), { messageId: 'm1', text: 'with milk' })
    const first = timelineOf([...turn(1, 1, [followup]), ...turns(2, 6), ...open(7)])
    const then = compact(first, { limit: 900 }).timeline
    const path = 'ar:t1.external.followup.m1'
    expect(resolvePath(then, path, historyOf(first, then))).toMatchObject({ from: 'history', blocks: [{ type: 'user.followup' }] })
    expect(resolvePath(then, path, emptyHistory)).toMatchObject({
      from: 'timeline',
      blocks: [{ type: 'user.followup.preserved', text: 'with milk' }],
    })
  })

  it('to imported blocks with an older form of the path', () => {
    const imported = timelineOf([header('t1'), { ...result('c1', 'old'), path: 'tc:t1.tool_calls.c1.out.json' }])
    expect(textOf(resolvePath(imported, 'tc:t1.c1.result', emptyHistory))).toBe('old')
  })

  it('to the source rows of a selector, and lists the missing ones', () => {
    const rows = [{ sid: 1, url: 'https://a.example', title: 'A' }]
    const pooled = applyChange(before, { type: 'sources.merged', ts: minute(1), rows, next_sid: 2 })
    expect(resolvePath(pooled, 'so:sources_pool[1-2]', emptyHistory)).toMatchObject({ status: 'sources', rows: [{ sid: 1 }], missing: [2] })
  })

  it('to another resolver, to nothing, or is not a logical path', () => {
    const status = (path: string) => resolvePath(before, path, emptyHistory).status
    expect(['ks:a.md', 'sk:public.pdf', 'ar:conv_x.t1.user.prompt', 'fi:t1.files/app/'].map(status)).toEqual(Array(4).fill('elsewhere'))
    expect(
      ['ar:t99.user.prompt', 'fi:t99.files/a.md', 'ar:plan.latest:none', 'ar:t99.react.turn.index', 'su:t99.conv.range.summary'].map(
        status,
      ),
    ).toEqual(Array(5).fill('missing'))
    expect(['t1/files/a.md', 'hello', ''].map(status)).toEqual(Array(3).fill('not_a_logical_path'))
  })
})

describe('the turn index', () => {
  it('lists all paths of a turn, section by section', () => {
    const rows = JSON.stringify([
      { sid: 3, url: 'https://a.example' },
      { sid: 4, url: 'https://b.example' },
    ])
    const blocks: readonly Block[] = withIds([
      header('t1'),
      prompt('top 3 places?\nplease'),
      call('s1'),
      toolResultBlock(blockOrigin('s1'), { mime: 'application/json', text: rows }),
      call('x1', 'exec_tools.execute_code_python', 't1', 1),
      noticeBlock(blockOrigin('x1', 't1', 1), { code: 'tool_error', message: 'no file' }),
      toolResultBlock(blockOrigin('x1', 't1', 1), { mime: 'application/json', text: '{"error":{"code":"boom"}}' }),
      ...written('fi:t1.files/a.md', 'tea'),
      ...noteDrafts('t1', 'n', '[P] milk'),
      userEventBlock('followup', 't1', minute(1), { messageId: 'm1', text: 'and Rome' }),
      { ...completion('these three'), meta: { sources_used: [9] } },
    ])
    expect(turnIndexText({ turn_id: 't1', ts: minute(0), end_ts: minute(9), blocks, sources_used: [] })).toMatchInlineSnapshot(`
      "[TURN INDEX] t1
      [path: ar:t1.react.turn.index]
      started: 2026-01-01T00:00:00.000Z
      ended: 2026-01-01T00:09:00.000Z

      ## summaries
      none

      ## messages
      - user | ar:t1.user.prompt | top 3 places? please
      - assistant | ar:t1.assistant.completion | these three

      ## events
      - notice | tc:t1.x1.notice | tool_error | no file
      - note | fi:t1.files/n.md | [P] milk
      - followup | ar:t1.external.followup.m1 | and Rome

      ## tools
      - web_tools.web_search | success | call: tc:t1.s1.call | result: tc:t1.s1.result | hint: query=s1 | [{"sid":3,"url":"https://a.example"},{"sid":4,"url":"https://b.example"}]
      - exec_tools.execute_code_python | error | call: tc:t1.x1.call | result: tc:t1.x1.result | hint: query=x1 | {"error":{"code":"boom"}}
      - react.write | success | call: tc:t1.w1.call | result: fi:t1.files/a.md | hint: query=w1 | tea
      - react.write | success | call: tc:t1.n.call | result: tc:t1.n.result | hint: query=n

      ## artifacts
      - fi:t1.files/a.md | text/markdown | display | source: w1
      - fi:t1.files/n.md | text/markdown | internal | source: n

      ## sources
      - so:sources_pool[3-4, 9]"
    `)
  })

  it('leaves out blocks of unknown types, also of types named like a property of every object, such as constructor', () => {
    const types = ['constructor', 'toString', '__proto__', 'hasOwnProperty']
    const blocks = withIds(types.map((type) => ofUnknownType(type, { ...prompt('x'), path: 'ar:t1.odd' })))
    expect(turnIndexText({ turn_id: 't1', ts: null, end_ts: null, blocks, sources_used: [] })).not.toContain('odd')
  })

  it('is computed from the journal for a compacted turn', () => {
    const before = timelineOf([...turns(1, 6), ...open(7)])
    const { timeline } = compact(before, { limit: 900 })
    const text = textOf(resolvePath(timeline, 'ar:t1.react.turn.index', historyOf(before, timeline))) ?? ''
    for (const path of ['ar:t1.user.prompt', 'ar:t1.assistant.completion', 'tc:t1.t1c1.call', 'tc:t1.t1c1.result'])
      expect(text).toContain(path)
  })

  it('says of the running turn that it is not closed', () => {
    const running = applyChange(withDrafts(timelineOf([]), open(1)), { type: 'turn.opened', turn_id: 't1', ts: minute(1) })
    expect(textOf(resolvePath(running, 'ar:t1.react.turn.index', emptyHistory))).toContain('ended: not closed')
  })
})
