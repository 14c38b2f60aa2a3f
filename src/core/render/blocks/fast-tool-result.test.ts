import fc from 'fast-check'
import { expect, it } from 'vitest'
import { blockOrigin, withIds } from '../../../testing/blocks.ts'
import { type Block, toolResultBlock } from '../../block/index.ts'
import { caps } from '../caps.ts'
import type { RenderContext } from '../types.ts'
import { isPlainResult } from './fast-tool-result.ts'
import { renderByPayload, renderToolResult } from './tool-result.ts'

const key = fc.oneof(
  fc.constantFrom('sid', 'paths', 'total_tokens', 'hosted_uri', 'rn', 'key', 'physical_path', 'status', 'error', 'name', '__proto__'),
  fc.string({ maxLength: 6 }),
)
const value = fc.oneof(fc.string({ maxLength: 20 }), fc.integer(), fc.boolean(), fc.constant(null), fc.constant('/srv/a'))
const row = fc.dictionary(key, value, { maxKeys: 3 })
const payload = fc.oneof(value, row, fc.array(row, { maxLength: 3 }), fc.dictionary(key, row, { maxKeys: 3 }))
const text = fc.oneof(
  payload.map((json) => JSON.stringify(json)),
  payload.map((json) => JSON.stringify(json, null, 2)),
  fc.string(),
  fc.integer({ min: 0, max: 40 }).map((count) => 'QUJD'.repeat(count * 100)),
)
const context = (toolId: string, toolResult: number): RenderContext => ({
  caps: { ...caps, toolResult },
  callId: 'c1',
  toolId,
  continuedStatus: undefined,
  repeatsPlan: false,
  attachment: undefined,
})

it('the fast path renders a result as the general version does', () => {
  let fast = 0
  const mime = fc.constantFrom('application/json', 'application/problem+json', 'text/plain', '')
  const tool = fc.constantFrom('x.y', 'react.read', 'web_tools.web_search')
  const numRuns = 2_000
  fc.assert(
    fc.property(text, mime, tool, fc.constantFrom(20, 12_000), (given, type, toolId, limit) => {
      const [block] = withIds([toolResultBlock(blockOrigin('c1'), { mime: type, text: given })]) as [Block]
      if (!isPlainResult(block, context(toolId, limit))) return
      fast++
      expect(renderToolResult(block, context(toolId, limit))).toEqual(renderByPayload(block, context(toolId, limit)))
    }),
    { numRuns },
  )
  expect(fast).toBeGreaterThan(numRuns / 4)
})
