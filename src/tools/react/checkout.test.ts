import { describe, expect, it } from 'vitest'
import { afterEarlierTurns } from '../../../test/support/earlier-turns.ts'
import { contentsBelow } from '../../testing/conformance/workspace/fixture.ts'
import { createCheckoutTool } from './checkout.ts'

const checkoutTool = createCheckoutTool()

const turns = {
  turn_o: { 'app/a.ts': 'a', 'app/b.ts': 'b', 'notes/n.md': 'n' },
  turn_p: { 'app/a.ts': 'A', 'docs/d.md': 'd' },
}

async function fixture() {
  const tools = await afterEarlierTurns(turns)
  return { ...tools, files: () => contentsBelow(tools.workspace, 'turn_c/files') }
}

describe('react.checkout', () => {
  it('uses the last mention of a path that is given twice', async () => {
    const { run, files } = await fixture()
    await run(checkoutTool, { mode: 'replace', paths: ['fi:turn_o.files/app', 'fi:turn_p.files/app', 'fi:turn_o.files/app'] })
    expect(await files()).toEqual({ 'app/a.ts': 'a', 'app/b.ts': 'b' })
  })

  it('refuses more than 50 paths instead of leaving some out', async () => {
    const { run, files } = await fixture()
    const paths = ['fi:turn_o.files/app', ...Array.from({ length: 50 }, (_, n) => `fi:turn_p.files/docs/${n}`)]
    expect(await run(checkoutTool, { paths })).toMatchObject({ ok: false, error: { code: 'protocol_violation.checkout_invalid_paths' } })
    expect(await files()).toEqual({})
  })

  it('makes files/ exactly the sources, later ones over earlier ones, and records the sources', async () => {
    const { run, files } = await fixture()
    const { ok, output, after } = await run(checkoutTool, { mode: 'replace', paths: ['fi:turn_o.files/app', 'fi:turn_p.files/app/a.ts'] })
    expect([ok, output]).toEqual([
      true,
      {
        mode: 'replace',
        checked_out_from: ['fi:turn_o.files/app', 'fi:turn_p.files/app/a.ts'],
        checked_out: [
          { source: 'fi:turn_o.files/app', files: 2 },
          { source: 'fi:turn_p.files/app/a.ts', files: 1 },
        ],
        materialized: {
          file_count: 2,
          tree: ['app/a.ts', 'app/b.ts'],
          tree_truncated: false,
          omitted_files: 0,
          target_root: 'turn_c/files/',
          target_logical_root: 'fi:turn_c.files/',
          path_rule: { logical: 'fi:turn_c.files/<path>', physical: 'turn_c/files/<path>' },
        },
        missing: [],
        errors: [],
      },
    ])
    expect(await files()).toEqual({ 'app/a.ts': 'A', 'app/b.ts': 'b' })
    expect(after).toMatchObject([
      {
        type: 'react.workspace.checkout',
        path: 'ar:turn_c.react.workspace.checkout',
        text: '{"mode":"replace","checked_out":["fi:turn_o.files/app","fi:turn_p.files/app/a.ts"],"checked_out_from":["fi:turn_o.files/app","fi:turn_p.files/app/a.ts"]}',
      },
    ])
  })

  it('tools 18.58: an overlay keeps other files and overwrites overlapping ones; its sources accumulate', async () => {
    const { run, files, workspace } = await fixture()
    await workspace.files.write('turn_c/files/app/mine.ts', Buffer.from('mine'))
    await workspace.files.write('turn_c/outputs/report.md', Buffer.from('out'))
    await run(checkoutTool, { mode: 'overlay', paths: ['fi:turn_o.files/app'] })
    const { after } = await run(checkoutTool, { mode: 'overlay', paths: ['fi:turn_p.files/app', 'fi:turn_o.files/app'] })
    expect(await files()).toEqual({ 'app/a.ts': 'a', 'app/b.ts': 'b', 'app/mine.ts': 'mine' })
    expect(after?.[0]?.text).toBe(
      '{"mode":"overlay","checked_out":["fi:turn_p.files/app","fi:turn_o.files/app"],"checked_out_from":["fi:turn_o.files/app","fi:turn_p.files/app"]}',
    )
    expect(await contentsBelow(workspace, 'turn_c/outputs')).toEqual({ 'report.md': 'out' })
  })

  it('tools 18.59: a replace does not undo work of the current turn, unless it is forced', async () => {
    const { run, files, workspace } = await fixture()
    await run(checkoutTool, { mode: 'replace', paths: ['fi:turn_o.files/app'] })
    await workspace.files.write('turn_c/files/app/mine.ts', Buffer.from('mine'))
    const before = await files()
    const { ok, error, notices } = await run(checkoutTool, { paths: ['fi:turn_p.files'] })
    expect([ok, error?.code, notices?.[0]?.code]).toEqual([false, 'react.checkout.nonempty', 'react.checkout.nonempty'])
    expect(error?.message).toContain('app/mine.ts')
    expect(await files()).toEqual(before)
    expect((await run(checkoutTool, { paths: ['fi:turn_p.files'], force: true })).ok).toBe(true)
    expect(await files()).toEqual({ 'app/a.ts': 'A', 'app/b.ts': 'b', 'docs/d.md': 'd', 'notes/n.md': 'n' })
  })

  it('tools 18.61: nothing changes when one source is missing', async () => {
    const { run, files } = await fixture()
    await run(checkoutTool, { paths: ['fi:turn_o.files/notes'] })
    const { ok, error } = await run(checkoutTool, { paths: ['fi:turn_p.files/docs', 'fi:turn_o.files/nothing', 'fi:turn_x.files'] })
    expect([ok, error?.code, error?.details]).toEqual([
      false,
      'react.checkout.failed',
      {
        missing: [
          { path: 'fi:turn_o.files/nothing', message: 'that turn has no such files' },
          { path: 'fi:turn_x.files', message: 'that turn has no such files' },
        ],
      },
    ])
    expect(await files()).toEqual({ 'notes/n.md': 'n' })
  })

  it('tools 18.62: version replaces files/ by all files of that turn', async () => {
    const [older, newer] = [await fixture(), await fixture()]
    const a = await older.run(checkoutTool, { version: 'turn_o' })
    const b = await newer.run(checkoutTool, { mode: 'replace', paths: ['fi:turn_o.files'] })
    expect(a.output).toEqual(b.output)
    expect(await older.files()).toEqual(await newer.files())
  })

  it('accepts a path with the id of this conversation', async () => {
    const [short, long] = [await fixture(), await fixture()]
    const a = await short.run(checkoutTool, { paths: ['fi:turn_o.files/app'] })
    const b = await long.run(checkoutTool, { paths: ['conv:fi:conv_c1.turn_o.files/app'] })
    expect(a.ok).toBe(true)
    expect(b.output).toEqual(a.output)
    expect(await long.files()).toEqual(await short.files())
  })

  it('has an error code for every kind of invalid request', async () => {
    const { run, files } = await fixture()
    const code = async (params: object) => (await run(checkoutTool, params)).error?.code
    expect(await code({ mode: 'merge', paths: ['fi:turn_o.files'] })).toBe('protocol_violation.checkout_invalid_mode')
    expect(await code({ mode: 'replace' })).toBe('protocol_violation.checkout_missing_paths')
    expect(await code({ paths: [] })).toBe('protocol_violation.checkout_missing_paths')
    expect(await code({ version: 'turn_o', paths: ['fi:turn_o.files'] })).toBe('checkout_conflicting_params')
    expect(await code({ version: '../turn_o' })).toBe('protocol_violation.checkout_invalid_paths')
    const wrong = {
      'fi:turn_o.outputs/x': 'only_files_can_be_checked_out',
      'fi:turn_c.files/app': 'already_the_current_turn',
      'turn_o/files/app': 'not_a_files_ref',
      'fi:turn_o.files/../../x': 'not_a_files_ref',
      'ks:docs': 'not_a_files_ref',
      'fi:conv_c2.turn_o.files': 'in_another_conversation',
    }
    const { error, notices } = await run(checkoutTool, { paths: ['fi:turn_o.files', ...Object.keys(wrong)] })
    const reasons = Object.entries(wrong).map(([path, reason]) => ({ path, reason }))
    expect([error?.code, error?.details]).toEqual(['protocol_violation.checkout_invalid_paths', { paths: reasons }])
    expect(notices?.map((notice) => notice.code)).toEqual(['protocol_violation.checkout_invalid_paths'])
    expect(await files()).toEqual({})
  })

  it('reports a workspace that can not be written', async () => {
    const { run, workspace } = await fixture()
    await workspace.files.write('turn_c/files', Buffer.from('a file in the place of the folder'))
    const { error } = await run(checkoutTool, { paths: ['fi:turn_o.files'] })
    expect([error?.code, Object.keys(error?.details ?? {})]).toEqual(['react.checkout.failed', ['errors']])
  })
})
