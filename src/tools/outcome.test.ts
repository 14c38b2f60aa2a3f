import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { blocksOf } from '../core/timeline/timeline.ts'
import { createHarness } from '../testing/harness.ts'
import { reply } from '../testing/scripted-model.ts'
import { defineTool } from './define.ts'
import { outcomeOf, succeeded } from './outcome.ts'
import type { Call, Outcome } from './tool.ts'

async function callBlocks(run: (call: Call) => unknown, notes = 'Now.') {
  const tool = defineTool({ id: 'shop.do', description: '', params: z.object({}), run: (_, call) => run(call) as Outcome })
  const harness = createHarness({ tools: [tool], replies: [reply.call('shop.do', {}, { notes }), reply.answer('Done.')] })
  const result = await harness.say('Do it.')
  const texts = harness.model.requests.at(-1)?.parts.map((part) => (part.type === 'text' ? part.text : '')) ?? []
  return {
    result,
    prompt: texts.slice(0, -2).join(''), // without the tail: sources and announce
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

  it('a result has a metadata block before its content, at the same path, which no prompt shows', async () => {
    const rows = [1, 2].map((sid) => ({ sid, url: `https://e.example/${sid}`, title: 't' }))
    for (const [returned, mime, more] of [
      ['done', 'text/plain', {}],
      [{ stock: 3 }, 'application/json', {}],
      [rows, 'application/json', { sources_path: 'so:sources_pool[1-2]' }],
    ] as const) {
      const { blocks, prompt } = await callBlocks(() => returned, '')
      const [call, metadata, content] = blocks
      expect(blocks.map(({ type }) => type)).toEqual(['react.tool.call', 'react.tool.result', 'react.tool.result'])
      expect(metadata?.path).toBe(content?.path)
      expect(JSON.parse(metadata?.text ?? '')).toEqual({
        artifact_path: content?.path,
        mime,
        kind: 'file',
        visibility: 'internal',
        ...more,
        tool_id: 'shop.do',
        tool_call_id: call?.call_id,
        ts: content?.ts,
      })
      expect(content?.text).toBe(typeof returned === 'string' ? returned : JSON.stringify(returned))
      expect(prompt).not.toContain('artifact_path')
      expect(prompt).not.toContain('.summary')
      expect(prompt.split('[TOOL RESULT ')).toHaveLength(2)
    }
  })

  it('a call has one summary for all of its artifacts, and the artifacts that failed come first', async () => {
    const artifact = (call: Call, name: string, text: string) => ({
      digest: { artifact_path: `fi:${call.origin.turnId}.files/${name}`, kind: 'display' as const, visibility: 'internal' as const },
      mime: 'text/plain',
      text,
    })
    const names = ['a.txt', 'b.json', 'c.txt']
    const { blocks, prompt } = await callBlocks(
      (call) => succeeded({ output: { made: 3 }, artifacts: names.map((name) => artifact(call, name, `text of ${name}`)) }),
      '',
    )
    expect(prompt.match(/\.summary/g)).toHaveLength(1)
    const summary = prompt.slice(prompt.indexOf('].summary shop.do'))
    expect(summary).toMatch(
      /^\]\.summary shop\.do\nStatus: error — artifact_invalid .*\nArtifacts:\n- .*b\.json(?!.*status).*\n- .*a\.txt.* \| status: success\n- .*c\.txt.* \| status: success\n\n/,
    )
    const contents = blocks.flatMap(({ type, path }) => (type === 'react.tool.result' && path?.startsWith('fi:') ? [path] : []))
    expect(contents.map((path) => path.split('/').at(-1))).toEqual(names)
  })

  it('every digest names its tool', async () => {
    const { blocks } = await callBlocks(
      (call) =>
        succeeded({ artifacts: [{ digest: { artifact_path: `fi:${call.origin.turnId}.files/a.txt` }, mime: 'text/plain', text: 'a' }] }),
      '',
    )
    const results = blocks.filter(({ type }) => type === 'react.tool.result')
    for (const digest of [results[0]?.text, results[1]?.meta?.digest]) {
      expect(JSON.parse(digest ?? '')).toMatchObject({ tool_id: 'shop.do', tool_call_id: blocks[0]?.call_id })
    }
  })

  it('a tool that returns nothing has a result that says so', async () => {
    for (const returned of [undefined, { ok: true }, { ok: true, error: null }]) {
      const { blocks } = await callBlocks(() => returned, '')
      expect(blocks.at(-1)).toMatchObject({ mime: 'text/plain', text: 'The tool succeeded. It returned no value.' })
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
