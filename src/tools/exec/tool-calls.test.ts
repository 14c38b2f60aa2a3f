import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { codeSearch, weather } from '../../../test/support/scenario-tools.ts'
import { toolFixture } from '../../../test/support/tool-fixture.ts'
import type { Json } from '../../core/json.ts'
import { scriptedSandbox } from '../../testing/scripted-sandbox.ts'
import { defineTool } from '../define.ts'
import { failed, succeeded } from '../outcome.ts'
import type { Tool } from '../tool.ts'
import { createAnswers } from './answers.ts'
import { createExecTools } from './exec-tools.ts'

/** Answers requests of a program that may call these tools. */
async function answersFor(callable: readonly Tool[]) {
  const { call, workspace } = await toolFixture([])
  const limits = { stopGraceMs: 50, maxResultBytes: 1_000_000 }
  const answers = createAnswers(call, workspace, { sandbox: scriptedSandbox({}), callable, readers: {}, limits })
  const callTool = (toolId: string, params: Record<string, Json> = {}) => answers.answer({ kind: 'tool_call', toolId, params })
  return { answers, callTool }
}

const tool = (id: string, run: Tool['run'], more: Partial<Tool> = {}): Tool => ({
  ...defineTool({ id, description: '', params: z.looseObject({}), callableFromCode: true, run: () => null }),
  run,
  ...more,
})

describe('a tool that a program calls', () => {
  it('gives an envelope with the output or the error', async () => {
    const { callTool, answers } = await answersFor([
      tool('a.good', () => succeeded({ output: { n: 1 } })),
      tool('a.bad', () => failed('closed', 'The shop is closed.')),
    ])
    expect(await callTool('a.good')).toEqual({ ok: true, error: null, ret: { n: 1 } })
    expect(await callTool('a.bad')).toEqual({ ok: false, error: { code: 'closed', message: 'The shop is closed.' }, ret: null })
    expect(answers.calls()).toEqual([
      { tool_id: 'a.good', ok: true },
      { tool_id: 'a.bad', ok: false, error_code: 'closed' },
    ])
  })

  it('gets numbers of the pool for its sources, also in the second call, and all sources are collected once', async () => {
    const { callTool, answers } = await answersFor([codeSearch()])
    expect(await callTool('web_tools.web_search', { query: 'hills' })).toMatchObject({ ret: { best: '[[S:1]]' } })
    expect(await callTool('web_tools.web_search', { query: 'rivers' })).toMatchObject({ ret: { best: '[[S:4]]' } })
    expect(await callTool('web_tools.web_search', { query: 'hills' })).toMatchObject({ ret: { best: '[[S:1]]' } })
    expect(await answers.answer({ kind: 'fetch_ctx', path: 'so:sources_pool[4]' })).toMatchObject({ ret: [{ sid: 4, title: 'rivers 1' }] })
    expect(new Set(answers.results().sources?.map(({ sid }) => sid))).toEqual(new Set([1, 2, 3, 4, 5, 6]))
  })

  it('gets the right numbers for its sources even if the program calls several tools at once', async () => {
    const { callTool } = await answersFor([codeSearch()])
    const found = await Promise.all(['a', 'b', 'c'].map((query) => callTool('web_tools.web_search', { query })))
    expect(found.map((answer) => (answer as { ret: { best: string } }).ret.best)).toEqual(['[[S:1]]', '[[S:4]]', '[[S:7]]'])
  })

  it('is refused if the turn does not offer it', async () => {
    const { call, workspace } = await toolFixture([])
    const limits = { stopGraceMs: 50, maxResultBytes: 1_000_000 }
    const callable = [tool('a.good', () => succeeded({})), tool('a.bad', () => succeeded({}))]
    const offering = { ...call, offers: (id: string) => id === 'a.good' }
    const { answer } = createAnswers(offering, workspace, { sandbox: scriptedSandbox({}), callable, readers: {}, limits })
    expect(await answer({ kind: 'tool_call', toolId: 'a.good', params: {} })).toMatchObject({ ok: true })
    await expect(answer({ kind: 'tool_call', toolId: 'a.bad', params: {} })).rejects.toThrow('Only these can: a.good.')
  })

  it('tools 18.83: is refused with an exception if it is not on the list, and is not run', async () => {
    let ran = 0
    const { callTool, answers } = await answersFor([codeSearch()])
    await expect(callTool('secret.tool')).rejects.toThrow(
      'tool_not_allowed: secret.tool can not be called from code. Only these can: web_tools.web_search.',
    )
    expect(ran++).toBe(0)
    expect(answers.calls()).toEqual([{ tool_id: 'secret.tool', ok: false, error_code: 'tool_not_allowed' }])
  })

  it('must have callableFromCode, and can be neither an exec tool nor a react tool', () => {
    const exec = defineTool({
      id: 'a.exec',
      description: '',
      params: z.object({ contract: z.array(z.unknown()) }),
      exec: true,
      run: () => null,
    })
    const [python] = createExecTools({
      sandbox: scriptedSandbox({}),
      callable: [
        codeSearch(),
        weather(),
        { ...exec, callableFromCode: true },
        { ...weather(), id: 'react.weather', callableFromCode: true },
      ],
      readers: {},
      limits: { stopGraceMs: 0, maxResultBytes: 1 },
    })
    const text = python?.constraints.join('\n')
    expect(text).toContain('to call web_tools.web_search in code:')
    expect(() =>
      defineTool({
        id: 'a.exec',
        description: '',
        params: z.object({ contract: z.array(z.unknown()) }),
        exec: true,
        callableFromCode: true,
        run: () => null,
      }),
    ).toThrow('can not be called from code')
  })

  it('may be called 50 times by one program', async () => {
    let ran = 0
    const { callTool, answers } = await answersFor([tool('a.count', () => succeeded({ output: ++ran }))])
    for (let n = 0; n < 50; n++) await callTool('a.count')
    await expect(callTool('a.count')).rejects.toThrow('call_budget_exhausted: a program may call at most 50 tools')
    expect([ran, answers.calls().length]).toEqual([50, 51])
  })

  it('is stopped at its time limit, and the program gets the error', async () => {
    const waits = tool(
      'a.slow',
      (_, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      { timeoutMs: 5 },
    )
    const { callTool } = await answersFor([waits])
    expect(await callTool('a.slow')).toMatchObject({ ok: false, error: { code: 'tool_timeout' }, ret: null })
  })

  it('is cancelled when the program ends before it, and is still recorded', async () => {
    const started = Promise.withResolvers<void>()
    const waits = tool('a.slow', (_, { signal }) => {
      started.resolve()
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    })
    const { callTool, answers } = await answersFor([waits])
    const answer = callTool('a.slow')
    await started.promise
    await answers.close()
    expect(answers.calls()).toEqual([{ tool_id: 'a.slow', ok: false, error_code: 'tool_cancelled' }])
    expect(await answer).toMatchObject({ ok: false })
    await expect(callTool('a.slow')).rejects.toThrow('the program has ended')
  })

  it('rejects wrong parameters, and an exception of the tool is an error of the call', async () => {
    const strict = defineTool({
      id: 'a.strict',
      description: '',
      params: z.object({ n: z.number() }),
      callableFromCode: true,
      run: ({ n }) => n,
    })
    const throws = tool('a.throws', () => {
      throw new TypeError('no door')
    })
    const { callTool } = await answersFor([strict, throws])
    expect(await callTool('a.strict', { n: 'x' })).toMatchObject({ ok: false, error: { code: 'invalid_params' } })
    expect(await callTool('a.throws')).toMatchObject({ ok: false, error: { code: 'tool_call_error', message: 'no door' } })
  })

  it('gets bytes that the program sends, and has a key of its own for each call', async () => {
    const seen: unknown[] = []
    const { callTool } = await answersFor([
      tool('a.see', (params, { idempotencyKey, code, toolId }) => {
        seen.push(params, idempotencyKey, code, toolId)
        return succeeded({})
      }),
    ])
    await callTool('a.see', { picture: { __type__: 'bytes', __data__: 'AAEC' }, list: [{ n: 1 }] })
    await callTool('a.see')
    expect(seen).toEqual([
      { picture: new Uint8Array([0, 1, 2]), list: [{ n: 1 }] },
      'c1/t1/k/1',
      undefined,
      'a.see',
      {},
      'c1/t1/k/2',
      undefined,
      'a.see',
    ])
  })

  it('is recorded only for the first tries, and the number of fetch_ctx requests has a limit', async () => {
    const { callTool, answers } = await answersFor([])
    for (let n = 0; n < 100; n++) await callTool('a.none').catch(() => {})
    expect(answers.calls()).toHaveLength(60)
    const fetch = () => answers.answer({ kind: 'fetch_ctx', path: 'ar:none.user.prompt' })
    for (let n = 0; n < 1_000; n++) await fetch()
    expect(await fetch()).toMatchObject({ ret: null, err: { code: 'tool_failure', message: 'The program has used fetch_ctx too often.' } })
  })

  it('may return more to a program than to a prompt', async () => {
    const long = 'x'.repeat(2_000_000)
    const { callTool } = await answersFor([tool('a.long', () => succeeded({ output: long }))])
    expect(await callTool('a.long')).toMatchObject({ ok: true, ret: long })
  })

  it('has an id of its own for each call, so that the files of two calls have different names', async () => {
    const long = (letter: string) => tool(`a.${letter}`, () => succeeded({ output: letter.repeat(11 * 1024 * 1024) }))
    const { callTool, answers } = await answersFor([long('x'), long('y')])
    await callTool('a.x')
    await callTool('a.y')
    const made = answers.results().artifacts ?? []
    expect(made.map(({ digest, bytes }) => [digest.physical_path, bytes?.[0]])).toEqual([
      ['t1/outputs/result-k-1.txt', 'x'.charCodeAt(0)],
      ['t1/outputs/result-k-2.txt', 'y'.charCodeAt(0)],
    ])
  })

  it('that declares files gives them to the exec tool, and hides from the program where they are hosted', async () => {
    const files = [{ physical_path: 't1/outputs/a.csv', description: 'rows', key: 'private/key', hosted_uri: 'file:///private' }]
    const { callTool, answers } = await answersFor([tool('a.export', () => succeeded({ output: { artifact_type: 'files', files } }))])
    const answer = await callTool('a.export')
    expect(JSON.stringify(answer)).not.toContain('private')
    expect(answers.results().artifacts).toMatchObject([
      { digest: { artifact_path: 'fi:t1.outputs/a.csv', description: 'rows' }, mime: 'text/csv' },
    ])
  })

  it('has its files, notices and changes in the result of the exec tool', async () => {
    const digest = { artifact_path: 'fi:t1.outputs/a.pdf', physical_path: 't1/outputs/a.pdf' }
    const artifact = { digest, mime: 'application/pdf', bytes: new Uint8Array([1]) }
    const notice = { code: 'tool_call_warning.x', message: 'x' }
    const { callTool, answers } = await answersFor([tool('a.render', () => succeeded({ artifacts: [artifact], notices: [notice] }))])
    await callTool('a.render')
    expect(answers.results()).toEqual({ artifacts: [artifact], notices: [notice] })
  })
})
