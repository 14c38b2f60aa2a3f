import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { png } from '../../../test/support/sample-files/images.ts'
import { pdf } from '../../../test/support/sample-files/pdf.ts'
import { zip } from '../../../test/support/sample-files/zip.ts'
import { weather } from '../../../test/support/scenario-tools.ts'
import { type Block, readDigest } from '../../core/block/index.ts'
import { localScope } from '../../core/scope.ts'
import { blocksOf } from '../../core/timeline/timeline.ts'
import type { Sandbox } from '../../ports/sandbox.ts'
import { createHarness } from '../../testing/harness.ts'
import { reply } from '../../testing/scripted-model.ts'
import { type ScriptedProgram, scriptedSandbox } from '../../testing/scripted-sandbox.ts'
import { defineTool } from '../define.ts'

const workbook = zip([{ name: 'xl/workbook.xml', content: '<sheets><sheet name="a" sheetId="1"/></sheets>' }])
const python = 'exec_tools.execute_code_python'

/** Runs one program in a turn. `names` are the files of its contract. */
async function runInTurn(
  program: ScriptedProgram,
  names: readonly string[],
  more: { readonly sandbox?: Sandbox; readonly params?: object } = {},
) {
  const contract = names.map((filename) => ({ filename, description: 'a file' }))
  const harness = createHarness({
    sandbox: more.sandbox ?? scriptedSandbox({ go: program }),
    replies: [reply.call(python, { contract, ...more.params }, { code: 'go\nsecond line' }), reply.answer('Done.')],
  })
  const { events, turnId } = await harness.say('Go.')
  const results = blocksOf(await harness.timeline()).filter(({ type }) => type === 'react.tool.result')
  const [report] = results
  const workspace = await harness.workspaces.open(localScope, harness.conversationId)
  const contentAt = (rel: string) => results.find(({ path }) => path === `fi:${turnId}.${rel}`)
  return { harness, events, turnId, results, report, facts: report?.meta?.exec_report as Record<string, unknown>, workspace, contentAt }
}

describe('the files of a contract', () => {
  it('tools 18.76: a text over 20,000 bytes is cut in its block, not inside a character, and the file is complete', async () => {
    const text = 'ä€😀x'.repeat(2_500) // 25,000 bytes
    const { contentAt, workspace, turnId } = await runInTurn(({ write }) => write('files/long.txt', text), ['files/long.txt'])
    const shown = contentAt('files/long.txt')?.text ?? ''
    expect(shown.endsWith('...[truncated]')).toBe(true)
    const cut = shown.slice(0, -'...[truncated]'.length)
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(20_000)
    expect(Buffer.byteLength(cut)).toBeGreaterThan(19_990)
    expect(text.startsWith(cut)).toBe(true)
    expect(Buffer.from((await workspace.files.read(`${turnId}/files/long.txt`)) ?? []).toString()).toBe(text)
  })

  it('tools 18.77: a spreadsheet has a digest and a block without content', async () => {
    const { contentAt, results } = await runInTurn(({ write }) => write('files/table.xlsx', workbook), ['files/table.xlsx'])
    const block = contentAt('files/table.xlsx')
    expect([block?.text, block?.blob, block?.base64]).toEqual([undefined, undefined, undefined])
    expect(results.flatMap((each) => readDigest(each) ?? [])).toMatchObject([{ physical_path: expect.stringMatching(/table\.xlsx$/) }])
  })

  it('images and PDFs have their bytes in the block, and any other bytes have none', async () => {
    const { contentAt } = await runInTurn(
      async ({ write }) => {
        await write('outputs/a.png', png())
        await write('outputs/a.pdf', pdf(['page']))
        await write('outputs/a.bin', 'abc')
      },
      ['outputs/a.png', 'outputs/a.pdf', 'outputs/a.bin'],
    )
    const shown = (block: Block | undefined) => [block?.mime, block?.blob !== undefined, block?.text]
    expect(['outputs/a.png', 'outputs/a.pdf', 'outputs/a.bin'].map((name) => shown(contentAt(name)))).toEqual([
      ['image/png', true, undefined],
      ['application/pdf', true, undefined],
      ['application/octet-stream', false, undefined],
    ])
  })

  it('are delivered to the user if they are external, and images among them become sources', async () => {
    const { harness, results } = await runInTurn(({ write }) => write('files/chart.png', png()), ['files/chart.png'])
    expect((await harness.timeline()).sources.rows).toMatchObject([{ sid: 1, source_type: 'file', mime: 'image/png' }])
    expect(results.flatMap((block) => readDigest(block) ?? [])).toMatchObject([{ handed_over: false }]) // this agent has no hosting
  })
})

describe('a file of the contract that was there before', () => {
  it('counts if the program writes it, also with the same content, and not if the program leaves it alone', async () => {
    const contract = ['same', 'changed', 'left'].map((name) => ({ filename: `files/${name}.txt`, description: 'a file' }))
    const harness = createHarness({
      sandbox: scriptedSandbox({
        first: async ({ write }) => {
          for (const name of ['same', 'changed', 'left']) await write(`files/${name}.txt`, '1')
        },
        second: async ({ write, read }) => {
          await sleep(20) // file systems may have coarse times
          await write('files/same.txt', await read('files/left.txt'))
          await write('files/changed.txt', '2')
        },
      }),
      replies: [...['first', 'second'].map((code) => reply.call(python, { contract }, { code })), reply.answer('Done.')],
    })
    const { turnId } = await harness.say('Go.')
    const results = blocksOf(await harness.timeline()).filter(({ type }) => type === 'react.tool.result')
    const facts = results.flatMap(({ meta }) => (meta?.exec_report ? [meta.exec_report] : []))
    expect(facts).toMatchObject([
      { succeeded: ['same', 'changed', 'left'].map((name) => `${turnId}/files/${name}.txt`), file_errors: [] },
      {
        succeeded: ['same', 'changed'].map((name) => `${turnId}/files/${name}.txt`),
        file_errors: [{ path: `${turnId}/files/left.txt`, code: 'missing_file' }],
      },
    ])
    expect(results.find(({ meta }) => meta?.exec_report === facts[1])?.text).toContain('left.txt: file not produced')
  })
})

describe('a file that the contract does not name', () => {
  it('is kept if the program changed it, even if its size is the same, and not if the program left it alone', async () => {
    const contract = [{ filename: 'files/a.txt', description: 'a file' }]
    const harness = createHarness({
      sandbox: scriptedSandbox({
        first: async ({ write }) => {
          for (const name of ['grown', 'other', 'same']) await write(`outputs/${name}.txt`, '1')
        },
        second: async ({ write }) => {
          await write('outputs/grown.txt', '12')
          await write('outputs/other.txt', '2')
        },
      }),
      replies: [...['first', 'second'].map((code) => reply.call(python, { contract }, { code })), reply.answer('Done.')],
    })
    await harness.say('Go.')
    const results = blocksOf(await harness.timeline()).filter(({ type }) => type === 'react.tool.result')
    const kept = results.flatMap(({ meta }) => (meta?.exec_report ? [(meta.exec_report as { auto_kept: string[] }).auto_kept] : []))
    const names = kept.map((paths) => paths.map((path) => path.split('/').at(-1)))
    expect(names).toEqual([
      ['grown.txt', 'other.txt', 'same.txt'],
      ['grown.txt', 'other.txt'],
    ])
  })

  it('is in the result once if a tool made it that the program called', async () => {
    const large = defineTool({
      id: 'a.large',
      description: '',
      params: z.object({}),
      callableFromCode: true,
      run: () => 'x'.repeat(11 * 1024 * 1024),
    })
    const harness = createHarness({
      tools: [large],
      sandbox: scriptedSandbox({ go: async ({ toolCall }) => void (await toolCall('a.large', {})) }),
      replies: [reply.call(python, { contract: [{ filename: 'files/a.txt', description: 'a' }] }, { code: 'go' }), reply.answer('Done.')],
    })
    await harness.say('Go.')
    const digests = blocksOf(await harness.timeline()).flatMap((block) =>
      block.type === 'react.tool.result' ? (readDigest(block) ?? []) : [],
    )
    expect(digests.filter(({ physical_path }) => physical_path?.includes('/outputs/result-'))).toHaveLength(1)
  })
})

describe('the report', () => {
  it('has its facts in meta.exec_report, and the error of the call has the code of the program before that of its files', async () => {
    const { facts, report, harness, workspace } = await runInTurn(
      async ({ write, print }) => {
        await write('files/a.txt', 'a')
        print('KeyError: 7')
        return { kind: 'exited', exitCode: 3 }
      },
      ['files/a.txt', 'files/b.txt'],
    )
    const path = (name: string) => expect.stringMatching(new RegExp(`^turn_.*/files/${name}$`))
    expect(report).toMatchObject({ mime: 'text/markdown', meta: { visibility: 'internal' } })
    expect(facts).toEqual({
      exec_id: report?.call_id,
      status: 'error',
      runtime_error: { code: 'execution_failed', message: 'KeyError: 7 (exit code 3)' },
      file_errors: [{ path: path('b.txt'), code: 'missing_file', message: 'file not produced' }],
      succeeded: [path('a.txt')],
      auto_kept: [],
      duration_ms: 5,
    })
    await harness.agent.close()
    const record = JSON.parse(Buffer.from((await workspace.runtime.read(`tool_calls/${report?.call_id}.json`)) ?? []).toString())
    expect(record.ret).toMatchObject({
      ok: false,
      error: {
        where: 'exec.tool',
        code: 'execution_failed',
        details: { missing: [path('b.txt')], run: { kind: 'exited', exit_code: 3 }, stderr_tail: 'KeyError: 7\n' },
      },
    })
  })

  it.each([
    ['missing_output_files', 'files/missing.txt', ''],
    ['artifact_validation_failed', 'files/bad.json', '{'],
  ])('without an error of the program, the error of the call is %s', async (code, name, content) => {
    const { events } = await runInTurn(async ({ write }) => (content === '' ? undefined : write(name, content)), [name])
    const statuses = events.flatMap((event) =>
      event.type === 'lane.delta' && event.delta.extra?.sub_type === 'code_exec.status' ? [JSON.parse(event.delta.text)] : [],
    )
    expect(statuses.at(-1)).toMatchObject({ status: 'error', error: code })
  })

  it('shows the end of a long output, and says how much was dropped', async () => {
    const inner = scriptedSandbox({ go: ({ write }) => write('files/a.txt', 'a') })
    const log = `${'first line\n'}${'😀'.repeat(3_000)}last`
    const sandbox: Sandbox = { ...inner, run: async (program) => ({ ...(await inner.run(program)), log, logBytesDropped: 70 }) }
    const { report } = await runInTurn(async () => {}, ['files/a.txt'], { sandbox })
    const [, tail = ''] = report?.text?.split('Program log (tail):\n') ?? []
    expect(tail).toMatch(/^…😀+last\n\[70 more bytes of output were dropped\]$/u)
    expect(tail.split('\n')[0]?.length).toBeLessThanOrEqual(4_000)
  })

  it('never names the folders of the host, and neither do the logs', async () => {
    const { report, workspace } = await runInTurn(
      async ({ folders, print }) => print(`No such file: ${folders.out}/x and ${folders.work}/y`),
      ['files/a.txt'],
    )
    expect(report?.text).toContain('No such file: OUTPUT_DIR/x and WORKDIR/y')
    expect(Buffer.from((await workspace.runtime.read('logs/user.log')) ?? []).toString()).toContain('No such file: OUTPUT_DIR/x')
  })
})

describe('a run', () => {
  it('keeps the program, the loader and the output in the folder of the runtime', async () => {
    const { workspace, report } = await runInTurn(async ({ print }) => print('hello'), ['files/a.txt'])
    const read = async (path: string) => Buffer.from((await workspace.runtime.read(path)) ?? []).toString()
    const id = report?.call_id
    expect(await read(`executed_programs/${id}/main.py`)).toBe('go\nsecond line')
    expect(await read(`executed_programs/${id}/loader.py`)).toBe('# starts main.py\n')
    expect(await read('logs/user.log')).toBe(`===== EXECUTION ${id} START 2026-01-01T00:00:00.000Z =====\nhello\n\n`)
    expect(await read('logs/infra.log')).toBe(`===== EXECUTION ${id} START 2026-01-01T00:00:00.000Z =====\nended without an error\n`)
  })

  it('gives the program timeline.json, which contains its own call, and the pool of sources', async () => {
    const seen: string[] = []
    const { report } = await runInTurn(async ({ folders }) => void seen.push(...Object.keys(folders.context)), ['files/a.txt'])
    expect(seen).toEqual(['timeline.json', 'sources_pool.json'])
    expect(report).toBeDefined()
  })

  it('gives the program the time that the model asks for, but not more than the limit', async () => {
    const inner = scriptedSandbox({ go: async () => {} }, { limits: { defaultSeconds: 20, maxSeconds: 60 } })
    const asked: number[] = []
    const sandbox: Sandbox = {
      ...inner,
      run(program) {
        asked.push(program.timeoutSeconds)
        return inner.run(program)
      },
    }
    for (const params of [{}, { timeout_s: 7 }, { timeout_s: 600 }]) await runInTurn(async () => {}, ['files/a.txt'], { sandbox, params })
    expect(asked).toEqual([20, 7, 60])
  })

  it('shows clients the states gen, exec and done under one id', async () => {
    const { events, report } = await runInTurn(({ write }) => write('files/a.txt', 'a'), ['files/a.txt'])
    const deltas = events.flatMap((event) =>
      event.type === 'lane.delta' && event.delta.extra?.sub_type === 'code_exec.status' ? [event.delta] : [],
    )
    expect(deltas.map(({ extra, text, completed }) => [extra?.execution_id, JSON.parse(text), completed])).toEqual([
      [report?.call_id, { status: 'gen', timings: {} }, false],
      [report?.call_id, { status: 'exec', timings: { codegen: 0 } }, false],
      [report?.call_id, { status: 'done', timings: { codegen: 0, exec: 0 } }, true],
    ])
  })

  it('has its result even if its program and its logs can not be stored, and the operator is told', async () => {
    const problems: string[] = []
    const inner = createHarness({ replies: [] }).workspaces
    const workspaces = {
      ...inner,
      async open(...params: Parameters<typeof inner.open>) {
        const workspace = await inner.open(...params)
        const write = (path: string, ...rest: [Uint8Array]) =>
          /^(?:logs|executed_programs)/.test(path) ? Promise.reject(new Error('disk full')) : workspace.runtime.write(path, ...rest)
        return { ...workspace, runtime: { ...workspace.runtime, write } }
      },
    }
    const harness = createHarness({
      workspaces,
      onProblem: ({ where }) => void problems.push(where),
      sandbox: scriptedSandbox({ go: ({ write }) => write('files/a.txt', 'a') }),
      replies: [reply.call(python, { contract: [{ filename: 'files/a.txt', description: 'a' }] }, { code: 'go' }), reply.answer('Done.')],
    })
    await harness.say('Go.')
    const results = blocksOf(await harness.timeline()).filter(({ type }) => type === 'react.tool.result')
    expect(results.map(({ text }) => text?.split('\n')[0])).toEqual(['Succeeded:', expect.stringContaining('artifact_path'), 'a'])
    expect(problems).toEqual(['records of a program', 'records of a program'])
  })

  it('is an error of the call and not of the turn if the sandbox throws', async () => {
    const sandbox: Sandbox = { ...scriptedSandbox({}), run: () => Promise.reject(new TypeError('no such folder')) }
    const { report } = await runInTurn(async () => {}, ['files/a.txt'], { sandbox })
    expect(JSON.parse(report?.text ?? '')).toMatchObject({ ok: false, error: { code: 'tool_call_error', message: 'no such folder' } })
  })
})

describe('the exec tools of an agent', () => {
  const systemText = async (sandbox: Sandbox | undefined) => {
    const harness = createHarness({ ...(sandbox && { sandbox }), tools: [weather()], replies: [reply.answer('Done.')] })
    await harness.say('Go.')
    return harness.model.requests.find(({ role }) => role === 'decision')?.system ?? ''
  }

  it('do not exist without a sandbox', async () => expect(await systemText(undefined)).not.toContain('execute_code'))

  it('tell the model the languages, versions, packages and limits', async () => {
    const text = await systemText(scriptedSandbox({}, { limits: { defaultSeconds: 20, maxSeconds: 60 } }))
    expect(text).toContain('exec_tools.execute_code_python')
    expect(text).toContain('exec_tools.execute_code_javascript')
    for (const part of ['Python 3.11.2', 'numpy 1.24.2', 'JavaScript 24.0.0', 'at most 60', '2048 MiB of memory', '100 MiB for a file'])
      expect(text).toContain(part)
    expect(text).not.toContain('weather.today in code')
  })
})
