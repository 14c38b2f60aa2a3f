import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { blocksOf } from '../core/timeline/timeline.ts'
import { createHarness } from '../testing/harness.ts'
import { reply } from '../testing/scripted-model.ts'
import { defineTool } from './define.ts'
import { outcomeOf, succeeded } from './outcome.ts'
import type { Outcome } from './tool.ts'

async function callBlocks(run: () => unknown, notes = 'Now.') {
  const tool = defineTool({ id: 'shop.do', description: '', params: z.object({}), run: run as () => Outcome })
  const harness = createHarness({ tools: [tool], replies: [reply.call('shop.do', {}, { notes }), reply.answer('Done.')] })
  const result = await harness.say('Do it.')
  return {
    result,
    blocks: blocksOf(await harness.timeline()).filter(({ meta, type }) => meta?.iteration === 0 && type !== 'react.thinking'),
  }
}

describe('the blocks of a call', () => {
  it('tools 18.11: notes, call, notices, results, in this order; the call does not contain the notes', async () => {
    const notices = [
      { code: 'protocol_warning.x', message: 'about the call' },
      { code: 'shop.closed', message: 'about the result' },
    ]
    const { blocks } = await callBlocks(() => succeeded({ output: 'done', notices }))
    expect(blocks.map(({ type, meta }) => [type, meta?.rel])).toEqual([
      ['react.notes', undefined],
      ['react.tool.call', undefined],
      ['react.notice', 'call'],
      ['react.notice', 'result'],
      ['react.tool.result', undefined],
    ])
    expect(blocks[1]?.text).not.toContain('Now.')
  })

  it('tools 18.16: the flag managed is removed at any depth', async () => {
    const error = {
      code: 'x',
      message: 'no',
      managed: true,
      details: { managed: true, tool_error: { managed: false, why: 'y', list: [{ managed: 1 }] } },
    }
    const { blocks } = await callBlocks(() => ({ ok: false, error }))
    expect(JSON.stringify(blocks)).not.toContain('managed')
    expect(JSON.parse(blocks.at(-1)?.text ?? '')).toMatchObject({
      ok: false,
      status: 'error',
      error: { code: 'x', details: { tool_error: { why: 'y', list: [{}] } } },
    })
  })

  it('tools 18.17: base64 data in the output is removed', async () => {
    const run = 'QUJD'.repeat(750)
    for (const returned of [
      `see ${run}.`,
      { ok: true, ret: { image: run } },
      { ok: false, error: { code: 'x', message: 'no' }, ret: run },
    ]) {
      const { blocks } = await callBlocks(() => returned)
      expect(blocks.at(-1)?.text).toContain('[base64 removed: 3000 characters')
      expect(blocks.at(-1)?.text).not.toContain(run)
    }
  })

  it('a failed call has a call block, a notice and one JSON error, and the turn continues', async () => {
    const throws = () => {
      throw new Error('broken')
    }
    for (const [run, code] of [
      [throws, 'tool_call_error'],
      [() => ({ ok: false }), 'tool_result_error'],
    ] as const) {
      const { blocks, result } = await callBlocks(run, '')
      expect(result.exitReason).toBe('complete')
      expect(blocks.map(({ type }) => type)).toEqual(['react.tool.call', 'react.notice', 'react.tool.result'])
      expect(JSON.parse(blocks[1]?.text ?? '')).toMatchObject({ code })
      expect(JSON.parse(blocks[2]?.text ?? '')).toMatchObject({ ok: false, status: 'error' })
    }
  })

  it('tools 18.113: of a returned object with ok: false and no ret, the other fields become the output', () => {
    expect(outcomeOf({ ok: false, error: 'closed', opens: 9 } as never)).toEqual({
      ok: false,
      error: { code: 'tool_error', message: 'closed' },
      output: { opens: 9 },
    })
    expect(outcomeOf({ ok: false, error: { code: 'x', message: 'y', retryable: true } } as never).error).toEqual({
      code: 'x',
      message: 'y',
      retryable: true,
    })
  })
})
