import { describe, expect, it } from 'vitest'
import {
  artifactContentBlock,
  artifactDigestBlock,
  type Block,
  type BlockOrigin,
  type Digest,
  type Draft,
  resultMetadataBlock,
  toolResultBlock,
} from '../block/index.ts'
import { assignIds, emptyTimeline } from '../timeline/timeline.ts'
import { filesOfTurn } from './turn-files.ts'

const originOf = (turnId: string): BlockOrigin => ({ turnId, callId: `call_${turnId}`, iteration: 0, ts: '2026-01-01T00:00:00.000Z' })
const blocksFrom = (drafts: readonly Draft[]): readonly Block[] => assignIds(emptyTimeline(), drafts)

/** The blocks of a file that a tool made for users. */
function fileDrafts(turnId: string, name: string): readonly Draft[] {
  const path = `fi:${turnId}.files/${name}`
  const digest: Digest = { artifact_path: path, mime: 'text/plain', kind: 'file', visibility: 'external', size_bytes: 3 }
  return [
    artifactDigestBlock(originOf(turnId), digest),
    artifactContentBlock(originOf(turnId), { path, mime: 'text/plain', text: 'abc', digest }),
  ]
}

/** The blocks of a result that is not a file. */
function resultDrafts(turnId: string): readonly Draft[] {
  const result = toolResultBlock(originOf(turnId), { mime: 'application/json', text: '{"sum":3}' })
  return [resultMetadataBlock(originOf(turnId), result, { toolId: 'sum.add' }), result]
}

describe('the files of a turn', () => {
  it('are those of this turn, if the list has blocks of other turns', () => {
    const blocks = blocksFrom([...fileDrafts('turn_1', 'a.txt'), ...resultDrafts('turn_2'), ...fileDrafts('turn_2', 'b.txt')])
    const file = { path: 'fi:turn_2.files/b.txt', filename: 'b.txt', mime: 'text/plain', size: 3, rn: undefined, description: undefined }
    expect(filesOfTurn(blocks, 'turn_2')).toEqual([file])
  })

  it('leave out a file of the turn about which only another turn has blocks', () => {
    const [digest, content] = blocksFrom(fileDrafts('turn_1', 'a.txt')) as readonly [Block, Block]
    const later = [digest, content].map((block): Block => ({ ...block, turn_id: 'turn_2' }))
    expect(filesOfTurn(later, 'turn_1')).toEqual([])
    expect(filesOfTurn([digest, content], 'turn_1')).toHaveLength(1)
  })

  it('are found without reading the descriptions of results that are not files', () => {
    const read: string[] = []
    const get = (block: Block, key: string) => {
      if (key === 'text') read.push(block.id)
      return Reflect.get(block, key)
    }
    const drafts = [...resultDrafts('turn_1'), ...fileDrafts('turn_1', 'a.txt')]
    const blocks = blocksFrom(drafts).map((block) => new Proxy(block, { get }))
    expect(filesOfTurn(blocks, 'turn_1')).toHaveLength(1)
    expect(read).not.toContain('b_1')
  })
})
