import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Block, blockTypes, type Draft, type Meta } from '../../src/core/block/index.ts'
import { createRenderer } from '../../src/core/render/render.ts'
import { sourcesTail } from '../../src/core/render/sources-tail.ts'
import type { Part } from '../../src/core/render/types.ts'
import type { SourceRow } from '../../src/core/sources/source.ts'
import { applyChange } from '../../src/core/timeline/apply.ts'
import { emptyTimeline } from '../../src/core/timeline/timeline.ts'
import { minute } from '../../src/testing/blocks.ts'
import { situations } from '../golden/situations.ts'
import { journals } from '../support/generators/changes.ts'
import { conversations } from '../support/generators/conversations.ts'
import { plainOptions, timelineOf, timelineOfBlocks, withDrafts } from '../support/prompts/timelines.ts'

const unmarked = (parts: readonly Part[]) => parts.map(({ cache: _cache, ...part }) => part)
const current = (drafts: readonly Draft[]) => plainOptions(drafts.at(-1)?.turn_id ?? 't1')

const texts = [
  'words',
  '[1]',
  '[{"sid":1}]',
  '{"artifact_path":"fi:t1.files/a"}',
  '{"artifact_path":"fi:t1.files/b","error":"x"}',
  '{"plan_id":"p","steps":["a"],"status":{}}',
  '{"tool_id":"react.read","tool_call_id":"c1","params":{}}',
  '{"code":"a","message":"b"}',
]
const optional = <T>(...values: readonly T[]) => fc.constantFrom<T | undefined>(undefined, ...values)

/** Any block of an imported timeline. Few different paths, calls and rounds are used, so that blocks often have the same ones. */
const anyBlock: fc.Arbitrary<Draft> = fc
  .record({
    type: fc.constantFrom<string>(...blockTypes, 'not.known'),
    turn_id: fc.constantFrom('t1', 't2', 't3'),
    author: fc.constant('react'),
    ts: fc.constant(minute(0)),
    path: optional('fi:t1.files/a', 'tc:t1.c1.result', 'ar:t1.user.prompt', 'so:sources_pool[1]'),
    mime: fc.constantFrom('application/json', 'text/plain', 'image/png', 'application/pdf'),
    text: optional(...texts),
    blob: optional({ sha256: 'a', size: 9 }, { sha256: 'b', size: 9_000_000 }),
    call_id: optional('c1', 'c2'),
    iteration: optional(0, 1, 2),
    hidden: optional(
      { hidden: true, hidden_reason: 'hide' as const, replacement_text: 'folded' },
      { hidden: true, hidden_reason: 'cache_ttl' as const, hidden_scope: 'old_turn' as const },
    ),
  })
  .map(({ iteration, hidden, ...block }) => JSON.parse(JSON.stringify({ ...block, meta: { iteration, ...hidden } })))

describe('the prompt', () => {
  it('only grows with arbitrary imported blocks: shown blocks are shown again, and parts change only in the current round', () => {
    fc.assert(
      fc.property(fc.array(anyBlock, { maxLength: 14 }), fc.array(anyBlock, { maxLength: 8 }), (before, after) => {
        const short = timelineOf(before)
        const shown = createRenderer()
          .slice(short, 't2')
          .shown.map(({ parts }) => parts)
        const later = createRenderer()
          .slice(timelineOf([...before, ...after]), 't2')
          .shown.map(({ parts }) => parts)
        expect(later.slice(0, shown.length)).toEqual(shown)
        const rounds = after.map((draft, index): Draft => ({ ...draft, meta: { ...draft.meta, iteration: 50 + index } }))
        const sent = createRenderer().render(short, plainOptions('t2'))
        const next = createRenderer().render(timelineOf([...before, ...rounds]), plainOptions('t2'))
        const tail = (sent.marks.at(-1) ?? -1) + 1
        expect(unmarked(next.parts.slice(0, tail))).toEqual(unmarked(sent.parts.slice(0, tail)))
      }),
      { numRuns: 500 },
    )
  })

  it('only grows in a conversation: whatever follows, earlier parts are sent again byte for byte', () => {
    fc.assert(
      fc.property(conversations, fc.nat(), (steps, pick) => {
        const seen = 1 + (pick % steps.length)
        const before = steps.slice(0, seen).flat()
        const all = steps.flat()
        const short = createRenderer().render(timelineOf(before), current(before))
        const long = createRenderer().render(timelineOf(all), current(all))
        const sent = short.parts.slice(0, short.stableParts)
        expect(unmarked(long.parts.slice(0, sent.length))).toEqual(unmarked(sent))
      }),
      { numRuns: 150 },
    )
  })

  it('never has a mark on a tail, nor more than three, and each is on a part that ends a block', () => {
    fc.assert(
      fc.property(conversations, (steps) => {
        const all = steps.flat()
        const { parts, marks, stableParts } = createRenderer().render(timelineOf(all), { ...current(all), sources: 'S', announce: 'A' })
        expect(marks.length).toBeLessThanOrEqual(3)
        expect(marks).toEqual([...new Set(marks)].sort((a, b) => a - b))
        expect(marks.every((mark) => mark < stableParts)).toBe(true)
        expect(parts.flatMap((part, index) => (part.cache ? [index] : []))).toEqual(marks)
        expect(parts.every((part) => part.type !== 'text' || part.text.trim() !== '')).toBe(true)
      }),
      { numRuns: 100 },
    )
  })

  it('does not depend on earlier renders of the same renderer, whatever was hidden, inserted, compacted or imported in between', () => {
    fc.assert(
      fc.property(journals({ maxLength: 15 }), (changes) => {
        const reused = createRenderer()
        let timeline = emptyTimeline()
        for (const change of changes) {
          timeline = applyChange(timeline, change)
          expect(reused.render(timeline, plainOptions('t2'))).toEqual(createRenderer().render(timeline, plainOptions('t2')))
        }
      }),
      { numRuns: 60 },
    )
  })

  it('does not depend on earlier renders of a growing conversation', () => {
    fc.assert(
      fc.property(conversations, (steps) => {
        const reused = createRenderer()
        let timeline = emptyTimeline()
        for (const step of steps) {
          timeline = withDrafts(timeline, step)
          const options = current(step)
          expect(reused.render(timeline, options)).toEqual(createRenderer().render(timeline, options))
        }
      }),
      { numRuns: 60 },
    )
  })
})

describe('internal data', () => {
  const secret = fc.constantFrom('s3://SECRET-bucket/a', 'ef:SECRET:x', '/srv/SECRET/a.md', 'C:\\SECRET\\a.md')
  const hosting: fc.Arbitrary<Meta> = fc.record(
    { hosted_uri: secret, rn: secret, key: secret, local_path: secret, physical_path: secret, managed: secret },
    { requiredKeys: [] },
  )
  const about = fc.record(
    {
      filename: fc.constantFrom('a.md', 'a.png', '/srv/SECRET/a.md', 'C:\\SECRET\\a.md'),
      summary: fc.constant('a file'),
      iteration: fc.nat(3),
    },
    { requiredKeys: [] },
  )
  const digests = hosting.map((handles) => JSON.stringify({ artifact_path: 'fi:t1.files/a.md', mime: 'text/markdown', ...handles }))
  const rows = hosting.map((handles) => JSON.stringify([{ sid: 1, title: 'a', url: 'https://a.example', ...handles }]))
  const uri = fc.constantFrom<unknown>('s3://SECRET', ['s3://SECRET'], { url: 's3://SECRET' })
  const hosted = fc.tuple(hosting, uri).map(([handles, hosted_uri]) => JSON.stringify({ files: [{ name: 'a', ...handles, hosted_uri }] }))
  const notices = hosting.map((handles) => JSON.stringify({ code: 'x', message: 'm', ...handles }))
  const content = fc.oneof(
    fc.record({
      type: fc.constantFrom(...blockTypes),
      mime: fc.constantFrom('text/markdown', 'image/png', 'application/pdf'),
      text: fc.constant('words'),
      blob: fc.constant({ sha256: '0'.repeat(64), size: 10 }),
    }),
    fc.record({ type: fc.constantFrom(...blockTypes), mime: fc.constant('text/markdown'), text: fc.constant('words') }),
    fc.record({ type: fc.constant('react.tool.result'), mime: fc.constant('application/json'), text: fc.oneof(digests, rows, hosted) }),
    fc.record({ type: fc.constant('user.attachment.meta'), mime: fc.constant('application/json'), text: digests }),
    fc.record({ type: fc.constant('react.notice'), mime: fc.constant('application/json'), text: notices }),
  )
  const block = fc
    .record({
      content,
      path: fc.constantFrom('fi:t1.files/a.md', 'tc:t1.c1.result', 'ar:t1.user.prompt'),
      hidden: fc.option(fc.constantFrom('hide' as const, 'cache_ttl' as const, 'cache_ttl_light' as const), { nil: undefined }),
      meta: fc.tuple(hosting, about).map(([handles, rest]): Meta => ({ ...handles, ...rest, digest: JSON.stringify(handles) })),
    })
    .map(
      ({ content: given, path, hidden, meta }): Omit<Block, 'id'> => ({
        author: 'tool',
        turn_id: 't1',
        ts: minute(0),
        call_id: 'c1',
        path,
        ...given,
        meta: { ...meta, ...(hidden && { hidden: true, hidden_reason: hidden, hidden_scope: 'old_turn', replacement_text: 'folded' }) },
      }),
    )

  it('is in no rendered text: hosting handles and absolute paths stay in meta', () => {
    fc.assert(
      fc.property(fc.array(block, { minLength: 1, maxLength: 12 }), (drafts) => {
        const blocks = drafts.map((draft, index): Block => ({ id: `b_${index + 1}`, ...draft }))
        const { parts } = createRenderer().render(timelineOfBlocks(blocks), plainOptions('t1'))
        expect(JSON.stringify(parts)).not.toContain('SECRET')
      }),
      { numRuns: 150 },
    )
  })

  it('is not in the sources tail', () => {
    const row = fc.record({ handles: hosting, type: fc.constantFrom('file' as const, 'attachment' as const) })
    fc.assert(
      fc.property(fc.array(row, { maxLength: 5 }), (rows) => {
        const made = rows.map(
          ({ handles, type }, index): SourceRow => ({
            sid: index + 1,
            source_type: type,
            title: 'a',
            artifact_path: 'fi:t1.files/a',
            ...handles,
          }),
        )
        expect(sourcesTail({ rows: made, next_sid: 9 })).not.toContain('SECRET')
      }),
    )
  })
})

describe('rendering in two processes', () => {
  it('gives the bytes of the goldens, in two time zones and two languages', () => {
    const script = join(import.meta.dirname, '../support/prompts/print-goldens.ts')
    const print = (environment: NodeJS.ProcessEnv) =>
      execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', script], {
        env: { PATH: process.env.PATH, ...environment },
        encoding: 'utf8',
        maxBuffer: 2 ** 26,
      })
    const goldens = Object.keys(situations).map((name) => readFileSync(join(import.meta.dirname, '../golden', `${name}.txt`), 'utf8'))
    const turkish = print({ TZ: 'Pacific/Kiritimati', LANG: 'tr_TR.UTF-8', LC_ALL: 'tr_TR.UTF-8' })
    const arabic = print({ TZ: 'America/St_Johns', LANG: 'ar_EG.UTF-8', LC_ALL: 'ar_EG.UTF-8' })
    expect(turkish).toBe(arabic)
    expect(turkish).toBe(goldens.join('\f'))
  })
})
