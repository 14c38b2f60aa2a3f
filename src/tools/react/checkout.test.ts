import { describe, expect, it } from 'vitest'
import { afterEarlierTurns } from '../../../test/support/earlier-turns.ts'
import { contentsBelow } from '../../testing/conformance/workspace-fixture.ts'
import { checkoutTool } from './checkout.ts'

const turns = {
  turn_o: { 'app/a.ts': 'a', 'app/b.ts': 'b', 'notes/n.md': 'n' },
  turn_p: { 'app/a.ts': 'A', 'docs/d.md': 'd' },
}

async function stage() {
  const made = await afterEarlierTurns(turns)
  return { ...made, files: () => contentsBelow(made.workspace, 'turn_c/files') }
}

describe('react.checkout', () => {
  it('lays what is named twice where it was named last', async () => {
    const { run, files } = await stage()
    await run(checkoutTool, { mode: 'replace', paths: ['fi:turn_o.files/app', 'fi:turn_p.files/app', 'fi:turn_o.files/app'] })
    expect(await files()).toEqual({ 'app/a.ts': 'a', 'app/b.ts': 'b' })
  })

  it('refuses more paths than it takes at once: none of them is left out in silence', async () => {
    const { run, files } = await stage()
    const paths = ['fi:turn_o.files/app', ...Array.from({ length: 50 }, (_, n) => `fi:turn_p.files/docs/${n}`)]
    expect(await run(checkoutTool, { paths })).toMatchObject({ ok: false, error: { code: 'protocol_violation.checkout_invalid_paths' } })
    expect(await files()).toEqual({})
  })

  it('makes files/ exactly what the sources are, later ones over earlier ones, and writes down from where', async () => {
    const { run, files } = await stage()
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
        text: '{"mode":"replace","checked_out_from":["fi:turn_o.files/app","fi:turn_p.files/app/a.ts"]}',
      },
    ])
  })

  it('tools 18.58: an overlay keeps what is there and overwrites what overlaps; its sources add up', async () => {
    const { run, files, workspace } = await stage()
    await workspace.files.write('turn_c/files/app/mine.ts', Buffer.from('mine'))
    await workspace.files.write('turn_c/outputs/report.md', Buffer.from('out'))
    await run(checkoutTool, { mode: 'overlay', paths: ['fi:turn_o.files/app'] })
    const { after } = await run(checkoutTool, { mode: 'overlay', paths: ['fi:turn_p.files/app', 'fi:turn_o.files/app'] })
    expect(await files()).toEqual({ 'app/a.ts': 'a', 'app/b.ts': 'b', 'app/mine.ts': 'mine' })
    expect(after?.[0]?.text).toBe('{"mode":"overlay","checked_out_from":["fi:turn_o.files/app","fi:turn_p.files/app"]}')
    expect(await contentsBelow(workspace, 'turn_c/outputs')).toEqual({ 'report.md': 'out' })
  })

  it('tools 18.59: a replace does not undo what this turn made, unless it is forced', async () => {
    const { run, files, workspace } = await stage()
    await run(checkoutTool, { mode: 'replace', paths: ['fi:turn_o.files/app'] })
    await workspace.files.write('turn_c/files/app/mine.ts', Buffer.from('mine'))
    const before = await files()
    const { ok, error, notices } = await run(checkoutTool, { paths: ['fi:turn_p.files'] })
    expect([ok, error?.code, notices?.[0]?.code]).toEqual([false, 'react.checkout.nonempty', 'react.checkout.nonempty'])
    expect(error?.message).toContain('app/mine.ts')
    expect(await files()).toEqual(before)
    expect((await run(checkoutTool, { paths: ['fi:turn_p.files'], force: true })).ok).toBe(true)
    expect(await files()).toEqual({ 'app/a.ts': 'A', 'docs/d.md': 'd', 'notes/n.md': 'n' })
  })

  it('tools 18.61: one source that can not be had, and nothing changes', async () => {
    const { run, files } = await stage()
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

  it('tools 18.62: a version is a replace of everything that turn had', async () => {
    const [older, newer] = [await stage(), await stage()]
    const a = await older.run(checkoutTool, { version: 'turn_o' })
    const b = await newer.run(checkoutTool, { mode: 'replace', paths: ['fi:turn_o.files'] })
    expect(a.output).toEqual(b.output)
    expect(await older.files()).toEqual(await newer.files())
  })

  it('is refused with a code of its own for every way to ask wrongly', async () => {
    const { run, files } = await stage()
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
      'fi:conv_c2.turn_o.files': 'not_a_files_ref',
    }
    const { error, notices } = await run(checkoutTool, { paths: ['fi:turn_o.files', ...Object.keys(wrong)] })
    const reasons = Object.entries(wrong).map(([path, reason]) => ({ path, reason }))
    expect([error?.code, error?.details]).toEqual(['protocol_violation.checkout_invalid_paths', { paths: reasons }])
    expect(notices?.map(({ code: said }) => said)).toEqual(['protocol_violation.checkout_invalid_paths'])
    expect(await files()).toEqual({})
  })

  it('says so when the disk does not do it', async () => {
    const { run, workspace } = await stage()
    await workspace.files.write('turn_c/files', Buffer.from('a file in the place of the folder'))
    const { error } = await run(checkoutTool, { paths: ['fi:turn_o.files'] })
    expect([error?.code, Object.keys(error?.details ?? {})]).toEqual(['react.checkout.failed', ['errors']])
  })
})
