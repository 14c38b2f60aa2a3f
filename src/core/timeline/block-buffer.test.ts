import fc from 'fast-check'
import { expect, it } from 'vitest'
import { minute } from '../../testing/blocks.ts'
import { type Block, blockId, isHidden } from '../block/block.ts'
import { contentTokens, createEstimator, createMeter, type Meter } from '../estimate/estimate.ts'
import { roughTokens } from '../estimate/tokens.ts'
import { applyChange } from './apply.ts'
import { type BlockKind, commonLength } from './block-buffer.ts'
import type { Change } from './change.ts'
import {
  blockAt,
  blocksAtPath,
  blocksOf,
  blocksOfKind,
  blocksOfTurn,
  emptyTimeline,
  hasKind,
  newestOfKind,
  startOfTurn,
  type Timeline,
} from './timeline.ts'
import { knownTurns, summarisedTurns } from './turns.ts'

const kindOf: Readonly<Record<string, BlockKind>> = {
  'react.plan': 'plan',
  'react.plan.preserved': 'plan',
  'conv.range.summary': 'summary',
  'react.workspace.publish': 'publish',
  'react.tool.call': 'call',
}
const types = [...Object.keys(kindOf), 'user.prompt', 'react.tool.result'] as Block['type'][]
const turns = ['t1', 't2', 't3']

const newBlock = fc.record(
  {
    type: fc.constantFrom(...types),
    turn_id: fc.constantFrom(...turns),
    path: fc.constantFrom('ar:a', 'ar:b'),
    meta: fc.constantFrom<NonNullable<Block['meta']>>({ sources_used: [1] }, { render_role: 'metadata' }),
    text: fc.constant('{"artifact_path":"fi:t1.files/a"}'),
  },
  { requiredKeys: ['type', 'turn_id', 'path'] },
)
/** A step changes the newest timeline, or an older one, and may look up blocks in between. */
const step = fc.record({
  older: fc.option(fc.nat(50), { freq: 3, nil: undefined }),
  kind: fc.constantFrom('append', 'append', 'append', 'hide', 'hide', 'hide', 'reveal', 'insert', 'compact'),
  at: fc.nat(50),
  count: fc.nat(3),
  blocks: fc.array(newBlock, { minLength: 1, maxLength: 4 }),
  looksUp: fc.option(fc.nat(50), { nil: undefined }),
})

/** A timeline, and the blocks that it must always have. */
interface Version {
  readonly timeline: Timeline
  readonly blocks: readonly Block[]
}

function changeOf({ kind, at, count, blocks: made }: typeof step extends fc.Arbitrary<infer T> ? T : never, before: Timeline): Change {
  const first = before.nextBlock
  const blocks = made.map(
    (fields, n): Block => ({ id: blockId(first + n), author: 'react', ts: minute(0), text: 'x'.repeat(first + n), ...fields }),
  )
  const idAt = (position: number) => blockAt(before, position % Math.max(1, before.size))?.id ?? 'b_0'
  const ids = Array.from({ length: count + 1 }, (_, n) => idAt(at + n))
  if (kind === 'hide') return { type: 'blocks.hidden', ids, replacement_text: 'seen', reason: 'hide' }
  if (kind === 'reveal') return { type: 'blocks.revealed', ids }
  if (kind === 'insert') return { type: 'blocks.inserted', after_id: idAt(at), blocks }
  if (kind === 'compact') return { type: 'range.compacted', after_id: idAt(at), blocks, covered: ['t1'] }
  return { type: 'blocks.appended', blocks }
}

/** The blocks of a timeline that shares nothing with another one. */
const plainBlocks = (blocks: readonly Block[], change: Change): readonly Block[] =>
  blocksOf(applyChange(applyChange(emptyTimeline(), { type: 'blocks.appended', blocks }), change))

/** `meters` has a meter for each turn, because a meter remembers the tokens of one turn only. */
function expectLookUps({ timeline, blocks }: Version, meters: ReadonlyMap<string, Meter>): void {
  expect(blocksOf(timeline)).toEqual(blocks)
  const citing = blocks.filter(({ meta }) => meta?.sources_used !== undefined)
  expect(blocksOfKind(timeline, 'citing')).toEqual(citing)
  const mayBeArtifact = ({ type, text, meta }: Block) =>
    type === 'react.tool.result' && text?.includes('artifact_path') && meta?.render_role !== 'metadata'
  expect(blocksOfKind(timeline, 'artifact')).toEqual(blocks.filter(mayBeArtifact))
  for (const turnId of turns) {
    const ofTurn = blocks.filter(({ turn_id }) => turn_id === turnId)
    expect(meters.get(turnId)?.turnTokens(timeline, turnId)).toBe(ofTurn.reduce((sum, block) => sum + contentTokens(block, roughTokens), 0))
    const start = startOfTurn(timeline, turnId)
    expect(start).toBe(ofTurn[0] === undefined ? blocks.length : blocks.indexOf(ofTurn[0]))
    expect([...newestOfKind(timeline, 'citing', start)]).toEqual(citing.filter((block) => blocks.indexOf(block) >= start).toReversed())
  }
  for (const turnId of turns) expect(blocksOfTurn(timeline, turnId)).toEqual(blocks.filter(({ turn_id }) => turn_id === turnId))
  for (const kind of new Set(Object.values(kindOf))) {
    const ofKind = blocks.filter(({ type }) => kindOf[type] === kind)
    expect(blocksOfKind(timeline, kind)).toEqual(ofKind)
    expect([...newestOfKind(timeline, kind)]).toEqual(ofKind.toReversed())
    expect(hasKind(timeline, kind)).toBe(ofKind.length > 0)
    for (const from of [1, Math.floor(blocks.length / 2)])
      expect(hasKind(timeline, kind, from)).toBe(ofKind.some((block) => blocks.indexOf(block) >= from))
  }
  expect(blocksAtPath(timeline, 'ar:a')).toEqual(blocks.filter(({ path }) => path === 'ar:a'))
  expect(knownTurns(timeline)).toEqual(new Set(blocks.map(({ turn_id }) => turn_id)))
  expect(summarisedTurns(timeline)).toEqual([])
}

it('gives every timeline its own blocks, however often newer timelines and other timelines were made from it', () => {
  const counts = { older: 0, edits: 0 }
  fc.assert(
    fc.property(fc.array(step, { minLength: 5, maxLength: 30 }), (steps) => {
      const versions: Version[] = [{ timeline: emptyTimeline(), blocks: [] }]
      const meters = new Map(turns.map((turnId) => [turnId, createMeter(createEstimator(roughTokens))]))
      for (const each of steps) {
        const before = versions[each.older === undefined ? versions.length - 1 : each.older % versions.length] as Version
        const change = changeOf(each, before.timeline)
        const timeline = applyChange(before.timeline, change)
        const blocks = plainBlocks(before.blocks, change)
        versions.push({ timeline, blocks })
        const common = commonLength(before.timeline.buffer, timeline.buffer)
        if (common !== undefined) {
          const length = Math.min(common, before.blocks.length)
          expect(blocks.slice(0, length)).toEqual(before.blocks.slice(0, length))
        }
        if (each.older !== undefined) counts.older++
        if (blocks.some(isHidden)) counts.edits++
        if (each.looksUp !== undefined) expectLookUps(versions[each.looksUp % versions.length] as Version, meters)
      }
      for (const version of versions) expectLookUps(version, meters)
    }),
  )
  expect(Math.min(...Object.values(counts))).toBeGreaterThan(100)
})
