import { execFileSync } from 'node:child_process'
import { existsSync, linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { foldersOnDisk } from '../../../../test/support/workspace-folders.ts'
import { localScope } from '../../../core/scope.ts'
import {
  beginTurn,
  createTestJournal,
  publishTime,
  publishTurn,
  relsOf,
  type TestJournal,
} from '../../../testing/conformance/workspace/fixture.ts'
import { createMemoryBlobs } from '../../blobs/memory.ts'
import { createGitWorkspaces, type GitWorkspacesOptions } from './git.ts'
import { lineageRefs } from './lineage.ts'

const blobs = createMemoryBlobs()
const root = mkdtempSync(join(tmpdir(), 'daybook-git-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const home = 'local/default/local/c1'
const refs = lineageRefs(localScope, 'c1')

async function createFixture(options: Partial<GitWorkspacesOptions> = {}) {
  const folder = mkdtempSync(join(root, 'w-'))
  const open = () => createGitWorkspaces({ ...foldersOnDisk(folder), root: folder, blobs, ...options }).open(localScope, 'c1')
  const journal = createTestJournal()
  const at = (path: string) => join(folder, home, path)
  const git = (...args: string[]) => execFileSync('git', ['--git-dir', at('lineage.git'), ...args], { encoding: 'utf8' }).trim()
  return { folder, open, workspace: await open(), journal, at, git }
}

const first = { 'app/a.ts': 'a', 'app/b.ts': 'b', 'notes/n.md': 'n' }

describe('git workspaces', () => {
  it('tools 18.100: leave a deleted file out of the version of its turn, and keep it in the one before', async () => {
    const { workspace, journal, git } = await createFixture()
    await publishTurn(workspace, 'turn_1', journal, first)
    const turn = await beginTurn(workspace, 'turn_2', journal)
    await turn.checkout('replace', ['turn_1/app'])
    await turn.remove('app/b.ts')
    const { record } = await turn.publish()
    expect(record).toMatchObject({
      status: 'published',
      turn_id: 'turn_2',
      workspace_implementation: 'git',
      committed: true,
      commit_sha: git('rev-parse', refs.branch),
      lineage_ref: refs.branch,
      version_ref: refs.version('turn_2'),
    })
    const tree = (turnId: string) => git('ls-tree', '-r', '--name-only', refs.version(turnId)).split('\n')
    expect(tree('turn_2')).toEqual(['files/app/a.ts', 'files/notes/n.md'])
    expect(tree('turn_1')).toEqual(['files/app/a.ts', 'files/app/b.ts', 'files/notes/n.md'])
    const seconds = Date.parse(publishTime) / 1000
    expect(git('log', '--format=%s|%an|%ct|%at', refs.branch).split('\n')).toEqual(
      ['turn_2', 'turn_1'].map((turnId) => `React workspace snapshot ${turnId}|Daybook|${seconds}|${seconds}`),
    )
  })

  it('tools 18.101: make no commit without a change: the version is the head', async () => {
    const { workspace, journal, git } = await createFixture()
    await publishTurn(workspace, 'turn_1', journal, first)
    const head = git('rev-parse', refs.branch)
    const turn = await beginTurn(workspace, 'turn_2', journal)
    await turn.checkout('replace', ['turn_1'])
    expect((await turn.publish()).record).toMatchObject({
      committed: false,
      version_aliased: true,
      reason: 'workspace_unchanged',
      commit_sha: head,
    })
    expect([git('rev-parse', refs.branch), git('rev-parse', refs.version('turn_2'))]).toEqual([head, head])
    expect(git('for-each-ref', '--format=%(refname)').split('\n').sort()).toEqual(
      [refs.branch, refs.version('turn_1'), refs.version('turn_2')].sort(),
    )
  })

  it('tools 18.103: show programs one branch, no remote and an ordinary repository with only the checked-out files', async () => {
    const { workspace, journal, at } = await createFixture()
    await publishTurn(workspace, 'turn_1', journal, first)
    await publishTurn(workspace, 'turn_2', journal, { 'app/a.ts': '2' })
    await workspace.startTurn('turn_3')
    const git = (...args: string[]) => execFileSync('git', ['-C', at('out/workdir/turn_3'), ...args], { encoding: 'utf8' }).trim()
    expect(git('for-each-ref', '--format=%(refname)')).toBe('refs/heads/workspace')
    expect(git('remote', '-v')).toBe('')
    expect(git('status', '--porcelain')).toBe('')
    const log = 'Files of turn_3 before changes\nReact workspace snapshot turn_2\nReact workspace snapshot turn_1'
    expect(git('log', '--format=%s')).toBe(log)
    expect(git('show', 'HEAD~1:files/app/a.ts')).toBe('2')
    expect(existsSync(at('out/workdir/turn_3/files'))).toBe(false)
    await workspace.files.write('turn_3/files/app/a.ts', Buffer.from('3'))
    git('add', '.')
    git('commit', '-m', 'mine')
    expect(git('log', '-1', '--format=%s %an')).toBe('mine Daybook')
  })

  it('publish no ignored files, links, pipes or hard links; a nested repository is published as a folder', async () => {
    const { workspace, journal, at } = await createFixture()
    const turn = await beginTurn(workspace, 'turn_1', journal)
    await turn.write('app/.gitignore', '*.tmp\n/secret\n')
    for (const rel of ['app/a.ts', 'app/x.tmp', 'app/secret', 'app/inner/i.ts', 'twice']) await turn.write(rel, rel)
    const files = at('out/workdir/turn_1/files')
    symlinkSync('/etc/passwd', join(files, 'app/link'))
    symlinkSync('/etc', join(files, 'app/folder-link'))
    linkSync(join(files, 'twice'), join(files, 'app/hard'))
    execFileSync('mkfifo', [join(files, 'app/pipe')])
    execFileSync('git', ['init', '--quiet', join(files, 'app/inner')])
    writeFileSync(join(files, 'app/na:me'), 'x')
    await turn.publish()
    expect(await relsOf(workspace, 'turn_1', journal)).toEqual(['app/.gitignore', 'app/a.ts', 'app/inner/i.ts'])
  })

  it('run no program and read no setting that the agent wrote into its repository', async () => {
    const { workspace, journal, at, open } = await createFixture()
    await publishTurn(workspace, 'turn_1', journal, first)
    const turn = await beginTurn(workspace, 'turn_2', journal)
    await turn.checkout('replace', ['turn_1'])
    const trap = join(root, 'trapped')
    const program = join(root, 'trap.sh')
    writeFileSync(program, `#!/bin/sh\ntouch ${trap}\ncat\n`, { mode: 0o755 })
    const repository = at('out/workdir/turn_2/.git')
    const config = ['[core]', `fsmonitor = ${program}`, `hooksPath = ${root}`, `sshCommand = ${program}`, `pager = ${program}`]
    const more = [
      '[filter "x"]',
      `clean = ${program}`,
      `smudge = ${program}`,
      '[diff]',
      `external = ${program}`,
      '[alias]',
      `ls-files = !${program}`,
    ]
    writeFileSync(join(repository, 'config'), [...config, ...more].join('\n'))
    mkdirSync(join(repository, 'hooks'), { recursive: true })
    for (const hook of ['pre-commit', 'reference-transaction', 'post-checkout']) {
      writeFileSync(join(repository, 'hooks', hook), readFileSync(program), { mode: 0o755 })
      writeFileSync(join(root, hook), readFileSync(program), { mode: 0o755 })
    }
    mkdirSync(join(repository, 'objects/info'), { recursive: true })
    writeFileSync(join(repository, 'objects/info/alternates'), '/etc\n')
    await turn.write('app/.gitattributes', '* filter=x diff=x text eol=crlf\n')
    await turn.write('app/a.ts', 'changed\r\n')
    await workspace.describe('turn_2')
    await (await open()).startTurn('turn_2')
    await turn.publish()
    await (await open()).hydrate('turn_2', [{ area: 'files', rel: '' }], journal)
    expect(existsSync(trap)).toBe(false)
    expect(readFileSync(at('out/workdir/turn_2/files/app/a.ts'), 'utf8')).toBe('changed\r\n')
  })
})

describe('a journal from which retention has removed the publish records', () => {
  it('continues with the newest commit of a turn that it does not have, and not with one that it does not record', async () => {
    const { workspace, journal } = await createFixture()
    await publishTurn(workspace, 'turn_1', journal, first)
    await publishTurn(workspace, 'turn_2', journal, { two: '2' })
    const stray = await beginTurn(workspace, 'turn_3', journal)
    await stray.write('stray', '3')
    await workspace.publish('turn_3', { at: publishTime, previous: 'turn_2' }, journal)
    for (const turnId of ['turn_1', 'turn_2']) journal.remove(turnId)
    const turn = await beginTurn(workspace, 'turn_4', journal, { adopt: undefined })
    expect(await workspace.describe('turn_4')).toMatchObject({ lastPublishedTurn: 'turn_2' })
    await turn.write('four', '4')
    expect((await turn.publish()).record).not.toHaveProperty('parent_unavailable')
    expect(await relsOf(workspace, 'turn_4', journal)).toEqual(['app/a.ts', 'app/b.ts', 'four', 'notes/n.md', 'two'])
    expect(await relsOf(workspace, 'turn_1', journal)).toEqual(Object.keys(first))
  })
})

it('says that the version before is unavailable when the repository does not have its commit', async () => {
  const { workspace, journal, at, open } = await createFixture()
  await publishTurn(workspace, 'turn_1', journal, first)
  rmSync(at('lineage.git'), { recursive: true })
  const { record } = await publishTurn(await open(), 'turn_2', journal, { two: '2' })
  expect(record).toMatchObject({ parent_unavailable: 'turn_1', scopes: [{ name: 'two', files: 1 }] })
})

describe('two turns that publish at the same time', () => {
  const both = async (options: () => Partial<GitWorkspacesOptions>) => {
    const one = await createFixture(options())
    await publishTurn(one.workspace, 'turn_1', one.journal, first)
    return one
  }

  it('are both kept: the later commit is on top of the earlier one, and has only files of the version that both began with', async () => {
    const { workspace, journal, open, git } = await both(() => ({}))
    const other = await open()
    const [a, b] = [await beginTurn(workspace, 'turn_2', journal), await beginTurn(other, 'turn_3', journal)]
    await a.write('two/x', '2')
    await b.write('three/x', '3')
    const [second, third] = await Promise.all([a.publish(), b.publish()])
    expect([second.status, third.status]).toEqual(['published', 'published'])
    expect(await relsOf(workspace, 'turn_2', journal)).toEqual([...Object.keys(first), 'two/x'])
    expect(await relsOf(workspace, 'turn_3', journal)).toEqual([...Object.keys(first), 'three/x'])
    expect(git('rev-list', '--count', refs.branch)).toBe('3')
    expect(git('rev-list', '--count', '--merges', refs.branch)).toBe('0')
  })

  it('are both kept on two machines with one origin', async () => {
    const remote = join(mkdtempSync(join(root, 'o-')), 'origin.git')
    execFileSync('git', ['init', '--quiet', '--bare', remote])
    const { workspace, journal } = await both(() => ({ remote }))
    const elsewhere = await createFixture({ remote })
    const [a, b] = [await beginTurn(workspace, 'turn_2', journal), await beginTurn(elsewhere.workspace, 'turn_3', journal as TestJournal)]
    await a.write('two/x', '2')
    await b.write('three/x', '3')
    await a.publish()
    expect((await b.publish()).status).toBe('published')
    const names = execFileSync('git', ['--git-dir', remote, 'ls-tree', '-r', '--name-only', refs.version('turn_3')], { encoding: 'utf8' })
    expect(names.trim().split('\n')).toContain('files/two/x')
    expect(await relsOf(workspace, 'turn_3', journal)).toContain('three/x')
  })

  it('fail with a reason when the branch keeps moving', async () => {
    const { workspace, journal, at, git } = await both(() => ({}))
    const turn = await beginTurn(workspace, 'turn_2', journal)
    await turn.write('two/x', '2')
    const slow = join(root, 'slow-git.sh')
    const move = `git --git-dir '${at('lineage.git')}' update-ref ${refs.branch} "$(git --git-dir '${at('lineage.git')}' commit-tree -m x -p ${refs.branch} ${refs.branch}^{tree})"`
    writeFileSync(
      slow,
      `#!/bin/sh\ncase "$*" in *update-ref*) GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x; export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL; ${move};; esac\nexec git "$@"\n`,
      { mode: 0o755 },
    )
    const racing = await createGitWorkspaces({ ...foldersOnDisk(at('../../../..')), root: at('../../../..'), blobs, program: slow }).open(
      localScope,
      'c1',
    )
    const { status, record } = await journal.publish(racing, 'turn_2')
    expect([status, record.error]).toEqual([
      'failed',
      { code: 'workspace_publish_failed', message: expect.stringContaining('kept publishing') },
    ])
    expect(git('log', '--format=%s', refs.branch)).not.toContain('turn_2')
  })
})

it('removes a conversation at the origin too, and no other', async () => {
  const remote = join(mkdtempSync(join(root, 'o-')), 'origin.git')
  execFileSync('git', ['init', '--quiet', '--bare', remote])
  const folder = mkdtempSync(join(root, 'w-'))
  const workspaces = createGitWorkspaces({ ...foldersOnDisk(folder), root: folder, blobs, remote })
  for (const name of ['c1', 'c10']) {
    await publishTurn(await workspaces.open(localScope, name), 'turn_1', createTestJournal(), first)
  }
  await workspaces.remove(localScope, 'c1')
  const left = execFileSync('git', ['--git-dir', remote, 'for-each-ref', '--format=%(refname)'], { encoding: 'utf8' }).trim().split('\n')
  const others = lineageRefs(localScope, 'c10')
  expect(left.sort()).toEqual([others.version('turn_1'), others.branch].sort())
  expect(existsSync(join(folder, home))).toBe(false)
})

describe('an origin that can not be reached', () => {
  it('makes a publish fail with a reason that names no path, and leaves the branch unchanged', async () => {
    const { folder, workspace, journal, git } = await createFixture()
    await publishTurn(workspace, 'turn_1', journal, first)
    const head = git('rev-parse', refs.branch)
    const cut = await createGitWorkspaces({ ...foldersOnDisk(folder), root: folder, blobs, remote: join(root, 'nowhere.git') }).open(
      localScope,
      'c1',
    )
    await cut.files.write('turn_2/files/app/a.ts', Buffer.from('2'))
    const { status, record } = await journal.publish(cut, 'turn_2')
    expect([status, record.error?.code]).toEqual(['failed', 'workspace_publish_failed'])
    expect(JSON.stringify(record)).not.toContain(root)
    expect(git('rev-parse', refs.branch)).toBe(head)
    expect((await cut.describe('turn_2')).git).toMatchObject({ publishError: expect.any(String), currentTurnPublish: 'failed' })
  })

  it('does not keep hydration from using the journal', async () => {
    const { folder, journal } = await createFixture()
    journal.record('fi:turn_1.files/app/a.ts', Buffer.from('recorded'))
    const cut = await createGitWorkspaces({ ...foldersOnDisk(folder), root: folder, blobs, remote: join(root, 'nowhere.git') }).open(
      localScope,
      'c1',
    )
    expect((await cut.hydrate('turn_1', [{ area: 'files', rel: 'app/a.ts' }], journal)).fetched).toBe(1)
  })
})

it('describes the repository: its scopes, whether files changed, what was published', async () => {
  const { workspace, journal } = await createFixture()
  await workspace.startTurn('turn_1')
  expect(await workspace.describe('turn_1')).toMatchObject({ git: { status: 'clean' } })
  await publishTurn(workspace, 'turn_1', journal, first)
  const turn = await beginTurn(workspace, 'turn_2', journal)
  await turn.checkout('replace', ['turn_1/app'])
  const lineage = [
    { name: 'app', files: 2 },
    { name: 'notes', files: 1 },
  ]
  expect(await workspace.describe('turn_2')).toMatchObject({ git: { status: 'clean' }, lineage, lastPublishedTurn: 'turn_1' })
  await turn.remove('app/a.ts')
  expect((await workspace.describe('turn_2')).git).toMatchObject({ status: 'dirty' })
  expect((await workspace.describe('turn_9')).git).toMatchObject({ status: 'uninitialized' })
})

it('says at the start of a turn that git is not installed; if git is removed later, the publish fails and the repository is unavailable', async () => {
  const { workspace } = await createFixture({ program: 'no-such-git' })
  await expect(workspace.startTurn('turn_1')).rejects.toThrow('the program no-such-git was not found. Install it, or choose')
  const { folder, workspace: first, journal } = await createFixture()
  await first.startTurn('turn_1')
  const later = await createGitWorkspaces({
    ...foldersOnDisk(folder),
    root: folder,
    blobs: createMemoryBlobs(),
    program: 'no-such-git',
  }).open(localScope, 'c1')
  const turn = await beginTurn(later, 'turn_1', journal)
  await turn.write('app/a.ts', 'a')
  expect((await turn.publish()).record).toMatchObject({ status: 'failed', error: { code: 'workspace_publish_failed' } })
  expect((await later.describe('turn_1')).git).toEqual({ status: 'unavailable' })
})
