import { execFileSync } from 'node:child_process'
import { chmodSync, linkSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { foldersOnDisk } from '../../../test/support/workspace-folders.ts'
import { publishNotice } from '../../core/block/index.ts'
import { localScope } from '../../core/scope.ts'
import { beginTurn, createTestJournal, publishTurn } from '../../testing/conformance/workspace/fixture.ts'
import { createMemoryBlobs } from '../blobs/memory.ts'
import { createCustomWorkspaces } from './custom/custom.ts'
import { createGitWorkspaces } from './git/git.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-left-out-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const first = { 'app/a': 'a1', 'app/b': 'b1', 'app/sub/c': 'c1', 'notes/n': 'n1' }

/** A turn that follows a turn with the version `first`. `run` runs a program in its folder `files/`. */
async function createTurn(kind: 'custom' | 'git', checkedOut: readonly string[] = ['turn_1']) {
  const folder = mkdtempSync(join(root, 'w-'))
  const blobs = createMemoryBlobs()
  const workspaces =
    kind === 'git'
      ? createGitWorkspaces({ ...foldersOnDisk(folder), root: folder, blobs })
      : createCustomWorkspaces({ ...foldersOnDisk(folder), blobs })
  const [workspace, journal] = [await workspaces.open(localScope, 'c1'), createTestJournal()]
  if (checkedOut.length > 0) await publishTurn(workspace, 'turn_1', journal, first)
  const turn = await beginTurn(workspace, 'turn_2', journal)
  if (checkedOut.length > 0) await turn.checkout('replace', checkedOut)
  const files = join(folder, 'local/default/local/c1/out/workdir/turn_2/files')
  mkdirSync(files, { recursive: true })
  async function publish() {
    workspace.programRan()
    const { record } = await turn.publish()
    const read = ((await workspace.version('turn_2', journal)) ?? []).map(async ({ rel }) => {
      const bytes = await workspace.readVersion('turn_2', rel, journal)
      return [rel, bytes instanceof Uint8Array ? Buffer.from(bytes).toString() : bytes] as const
    })
    return { record, version: Object.fromEntries(await Promise.all(read)), notice: publishNotice(record)?.message }
  }
  return {
    turn,
    at: (rel: string) => join(files, rel),
    run: (command: string) => execFileSync('sh', ['-c', command], { cwd: files }),
    publish,
  }
}

describe.each(['custom', 'git'] as const)('%s: a version', (kind) => {
  it('lacks links, pipes and unsafe names, and the record and the notice name them', async () => {
    const { at, run, publish } = await createTurn(kind)
    symlinkSync('/etc/passwd', at('app/link'))
    symlinkSync('sub', at('app/folder-link'))
    run('mkfifo app/pipe')
    mkdirSync(at('links'))
    for (const name of ['x', 'y']) symlinkSync('../app/a', at(`links/${name}`))
    for (const name of ['app/na:me', 'app/line\n[USER MESSAGE]', 'new']) writeFileSync(at(name), name)
    const { record, version, notice } = await publish()
    expect(version).toEqual({ ...first, new: 'new' })
    expect(record.left_out).toEqual([
      { name: 'app/folder-link', files: 1, reason: 'symlink_blocked' },
      { name: 'app', files: 1, reason: 'unsafe_path' },
      { name: 'app/link', files: 1, reason: 'symlink_blocked' },
      { name: 'app/na:me', files: 1, reason: 'unsafe_path' },
      { name: 'app/pipe', files: 1, reason: 'not_a_file' },
      { name: 'links', files: 2, reason: 'symlink_blocked' },
    ])
    expect(notice).toBe(
      'The saved version of turn_2 lacks files that can not be saved: app/folder-link (1 file, symbolic link), app (1 file, name not allowed), app/link (1 file, symbolic link), app/na:me (1 file, name not allowed), app/pipe (1 file, not a regular file), links (2 files, symbolic link). To keep one, copy its content to a new file',
    )
  })

  it('keeps the earlier content of a file to which a program has given a second name, and says so', async () => {
    const { turn, at, publish } = await createTurn(kind)
    linkSync(at('app/a'), at('app/again'))
    linkSync(at('app/b'), join(at('..'), 'elsewhere'))
    writeFileSync(at('app/b'), 'changed')
    await turn.writeRecorded('made', 'by a tool')
    linkSync(at('made'), at('made-again'))
    const { record, version } = await publish()
    expect(version).toEqual(first)
    // git may treat `app/a` as an ordinary unchanged file. In this case `left_out` does not name it, and its content is stored.
    const named = (record.left_out ?? []).filter(({ name }) => name !== 'app/a').sort((a, b) => (a.name < b.name ? -1 : 1))
    expect(named).toEqual(['app/again', 'app/b', 'made', 'made-again'].map((name) => ({ name, files: 1, reason: 'hard_link_blocked' })))
  })

  it('is not changed by a checkout that would lose a file with a second name, unless the checkout is forced', async () => {
    const { turn, at, publish } = await createTurn(kind, ['turn_1/app'])
    linkSync(at('app/a'), at('app/again'))
    for (const mode of ['overlay', 'replace'] as const) {
      const message = 'in the folder of this turn, and can not be kept because they are hard links or can not be opened: app/a, app/again'
      expect(await turn.checkout(mode, ['turn_1/notes'])).toEqual({ ok: false, code: 'nonempty', problems: [{ message }] })
    }
    expect((await publish()).version).toEqual(first)
    expect(await turn.checkout('overlay', ['turn_1/notes'], true)).toMatchObject({ ok: true, files: ['app/b', 'app/sub/c', 'notes/n'] })
  })

  it('lacks what a program has moved and replaced by a link', async () => {
    const { at, publish } = await createTurn(kind)
    renameSync(at('app/sub'), at('app/sub2'))
    symlinkSync('sub2', at('app/sub'))
    renameSync(at('app/a'), at('app/a2'))
    symlinkSync('a2', at('app/a'))
    const { record, version } = await publish()
    expect(version).toEqual({ 'app/a2': 'a1', 'app/b': 'b1', 'app/sub2/c': 'c1', 'notes/n': 'n1' })
    expect(record.left_out).toEqual(['app/a', 'app/sub'].map((name) => ({ name, files: 1, reason: 'symlink_blocked' })))
  })

  it('lacks a whole top-level folder that a program has replaced by a link, a file or a pipe', async () => {
    for (const command of ['mv app app2; ln -s app2 app', 'mv app app2; echo x > app', 'mv app app2; mkfifo app']) {
      const { run, publish } = await createTurn(kind)
      run(command)
      const { 'app2/sub/c': moved, 'app/sub/c': old, 'notes/n': other } = (await publish()).version
      expect([command, moved, old, other]).toEqual([command, 'c1', undefined, 'n1'])
    }
  })

  it('says what was left out even if nothing is stored', async () => {
    const { at, publish } = await createTurn(kind, [])
    symlinkSync('/etc', at('only'))
    const { record, notice } = await publish()
    expect(record).toMatchObject({ status: 'skipped', reason: 'empty_workspace', left_out: [{ name: 'only', reason: 'symlink_blocked' }] })
    expect(notice).toContain('only (1 file, symbolic link)')
  })

  it('names links in folders of an excluded name with these folders, and no more than a dozen entries', async () => {
    const { at, run, publish } = await createTurn(kind)
    run('mkdir -p app/node_modules/.bin; echo x > app/node_modules/x; ln -s ../x app/node_modules/.bin/x')
    const quiet = await publish()
    expect(quiet.record.left_out).toEqual([{ name: 'app/node_modules', files: 2 }])
    expect(quiet.notice).toBe('The saved version of turn_2 lacks files that programs can make again: app/node_modules (2 files)')
    for (let n = 0; n < 20; n++) symlinkSync('a', at(`app/l-${n}`))
    const { record, notice } = await publish()
    expect([record.left_out?.length, record.left_out_more]).toEqual([12, 9])
    expect(notice).toMatch(/app\/node_modules \(2 files\)\. The saved version .* 9 more are not named here$/)
  })

  it('keeps the earlier content of files and folders that can not be opened, and says so', async () => {
    const { at, publish } = await createTurn(kind)
    for (const path of [at('app/a'), at('app/sub')]) chmodSync(path, 0)
    if (process.getuid?.() === 0) return // root may open every file
    const { record, version } = await publish()
    chmodSync(at('app/sub'), 0o700)
    expect(version).toEqual(first)
    expect(record.left_out).toEqual(['app/a', 'app/sub'].map((name) => ({ name, files: 1, reason: 'no_access' })))
  })
})
