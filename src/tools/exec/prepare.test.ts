import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { fileWritingTool } from '../../../test/support/scenario-tools.ts'
import { toolFixture } from '../../../test/support/tool-fixture.ts'
import { readNotice } from '../../core/block/index.ts'
import { blocksOf } from '../../core/timeline/timeline.ts'
import { createHarness } from '../../testing/harness.ts'
import { reply } from '../../testing/scripted-model.ts'
import { defineTool } from '../define.ts'
import { failed, type Returned, succeeded } from '../outcome.ts'
import { mentionedPaths, withContract } from './prepare.ts'

const file = (filename: string) => ({ filename, description: 'rows' })

/** Calls an exec tool with a program. Returns the outcome and the parameters that the tool got. */
async function call(params: object, code: string | undefined, work: () => Returned = () => 'ran') {
  const given: unknown[] = []
  const tool = defineTool({
    id: 'sample.exec',
    description: 'Runs.',
    params: z.object({ contract: z.array(z.unknown()), prog_name: z.unknown().optional(), timeout_s: z.number().optional() }),
    exec: true,
    run(accepted) {
      given.push(accepted)
      return work()
    },
  })
  const fixture = await toolFixture([], { turnId: 'turn_c' })
  const outcome = await withContract(tool).run(params as Record<string, unknown>, { ...fixture.call, code })
  return { outcome, given, codes: (outcome.notices ?? []).map((notice) => notice.code.replace('protocol_violation.', '')) }
}

describe('withContract', () => {
  it('gives the tool its contract as files of the current turn, and the other parameters unchanged', async () => {
    const contract = JSON.stringify([{ filepath: 'files/a.csv', description: 'rows' }])
    const { outcome, given } = await call({ contract, prog_name: 'Q1/Q2: sums', timeout_s: 5 }, 'print(1)')
    const files = [{ filename: 'turn_c/files/a.csv', description: 'rows', visibility: 'external' }]
    expect(given).toEqual([{ contract: files, prog_name: 'Q1/Q2: sums', timeout_s: 5 }])
    expect(outcome).toEqual(succeeded({ output: 'ran' }))
  })

  it('does not run the tool without a program, even if the contract is invalid, too', async () => {
    expect(await call({ contract: [file('../a')] }, ' ')).toMatchObject({ given: [], codes: ['exec_missing_code'] })
  })

  it.each([
    [{}, 'missing_artifacts'],
    [Object.create({ contract: [file('files/a')] }), 'missing_artifacts'],
    [{ contract: 'ref: nothing' }, 'invalid_artifacts_json'],
    [{ contract: new Uint8Array(2) }, 'invalid_artifacts'],
    [{ contract: [{}] }, 'invalid_artifact_spec'],
    [{ contract: [file('attachments/a.txt')] }, 'invalid_filename'],
  ])('does not run the tool with %j: %s', async (params, error) => {
    const { outcome, given } = await call(params, 'print(1)')
    expect(given).toEqual([])
    expect(outcome).toMatchObject({
      ok: false,
      error: { code: 'exec_contract_invalid', details: { error } },
      notices: [
        { code: 'protocol_violation.exec_contract_invalid', error, message: expect.stringMatching(/Nothing ran\. Send the call again/) },
      ],
    })
  })

  it.each([
    ['turn_o/files/a.py', 'turn_c/files/a.py'],
    ['fi:turn_o.outputs/a.py', 'turn_c/outputs/a.py'],
    ['attachments/a.py', 'turn_c/files/a.py'],
  ])('moves the program name %s into the current turn: %s', async (original, normalized) => {
    const { outcome, given } = await call({ contract: [file('files/a')], prog_name: original }, 'x')
    expect(given).toMatchObject([{ prog_name: normalized }])
    expect(outcome.notices).toMatchObject([{ code: 'protocol_violation.exec_path_rewritten', original, normalized }])
  })

  it.each(['sums', 'files/a.py', 'turn_c/files/a.py', 'turn_o/files/../..', 'notes: a', '', 7])(
    'leaves the program name %j unchanged',
    async (prog_name) => {
      expect(await call({ contract: [file('files/a')], prog_name }, 'x')).toMatchObject({ given: [{ prog_name }], codes: [] })
    },
  )

  it('reports paths in the program that are neither declared files nor their folders, and does not change the program', async () => {
    const contract = [file('files/sums/a.csv')]
    expect(await call({ contract }, 'mkdir("files/sums"); open("files/sums/a.csv"); ls("files/")')).toMatchObject({ codes: [] })
    const { outcome } = await call({ contract }, 'open("files/sums/a.csv"); open("files/sums/a"); open("attachments/b.csv")')
    expect(outcome.notices).toMatchObject([
      {
        code: 'protocol_violation.exec_code_rewritten',
        original: ['files/sums/a', 'attachments/b.csv'],
        normalized: ['turn_c/files/sums/a', 'turn_c/attachments/b.csv'],
      },
    ])
  })

  it('keeps its notices when the tool fails, throws or rejects', async () => {
    const codesOf = async (work: () => Returned) => {
      const { outcome, codes } = await call({ contract: [file('a.csv')] }, 'x', work)
      return [outcome.error?.code, ...codes]
    }
    const boom = () => {
      throw new Error('boom')
    }
    expect(await codesOf(() => failed('no_luck', 'No.', { notices: [{ code: 'own', message: 'x' }] }))).toEqual([
      'no_luck',
      'exec_contract_rewritten',
      'own',
    ])
    expect(await codesOf(boom)).toEqual(['tool_call_error', 'exec_contract_rewritten'])
    expect(await codesOf(async () => boom())).toEqual(['tool_call_error', 'exec_contract_rewritten'])
  })

  it('accepts a contract that is given by reference', async () => {
    const write = (content: string) => reply.call('react.write', { path: 'files/contract.json', channel: 'canvas', content, kind: 'file' })
    const run = reply.call('sample.press', { contract: 'ref:files/contract.json' }, { code: 'x' })
    const harness = createHarness({
      tools: [fileWritingTool()],
      replies: [write('{}'), run, write(JSON.stringify([file('files/a.csv')])), run, reply.answer('Done.')],
    })
    await harness.say('Do it.')
    const blocks = blocksOf(await harness.timeline())
    const notices = blocks.flatMap((block) => readNotice(block) ?? [])
    expect(notices.filter(({ code }) => code.includes('exec_'))).toMatchObject([{ error: 'invalid_artifacts' }])
    expect(blocks.some(({ path }) => path?.endsWith('.files/a.csv'))).toBe(true)
  })
})

describe('mentionedPaths', () => {
  it.each([
    ['open("files/a.csv"); open(\'outputs/b\')', ['files/a.csv', 'outputs/b']],
    ['cat files/a.csv > outputs/b.txt', ['files/a.csv', 'outputs/b.txt']],
    ['f"files/{name}.csv"', ['files']],
    ['open("files/a"); open("files/a")', ['files/a']],
    ['Path(OUT) / turn / "files/a"', []],
    ['open(f"{OUT_DIR}/turn_1/files/a"); open("../files/a"); open("my-files/a"); profiles/a; ./files/a', []],
    ['"files/../../etc/passwd"', []],
    ['"files"; files = 1; outputs // 2', []],
    ['', []],
  ])('finds the paths in %s', (program, paths) => {
    expect(mentionedPaths(program)).toEqual(paths)
  })

  it('is fast for programs of any size and shape', () => {
    expect(mentionedPaths('"files/x'.repeat(200_000))).toEqual(['files/x'])
    expect(mentionedPaths(`files/${'a'.repeat(2_000_000)}`)).toEqual([])
    expect(mentionedPaths(`/${' '.repeat(1_000_000)}"files/a"`)).toEqual(['files/a'])
    expect(mentionedPaths(Array.from({ length: 20_000 }, (_, index) => `files/${index}`).join(' '))).toHaveLength(1_000)
  })
})
