import { localScope } from '../../../core/scope.ts'
import type { TestRunner } from '../test-runner.ts'
import { describeCheckout } from './checkout.ts'
import { beginTurn, type CreateWorkspaceFixture, createTestJournal, openWorkspace, publishTurn, relsOf } from './fixture.ts'
import { describeHydration } from './hydration.ts'
import { describePrograms } from './programs.ts'
import { describeUnrecorded } from './unrecorded.ts'

/** The tests that every `Workspaces` must pass. `create` makes an empty fixture for each test. */
export function describeWorkspaces(runner: TestRunner, name: string, create: CreateWorkspaceFixture): void {
  describePublishing(runner, name, create)
  describeUnrecorded(runner, name, create)
  describeCheckout(runner, name, create)
  describeHydration(runner, name, create)
  describePrograms(runner, name, create)
  describeConversations(runner, name, create)
}

function describePublishing({ describe, it, expect }: TestRunner, name: string, create: CreateWorkspaceFixture): void {
  describe(`${name} publishes the files of a turn`, () => {
    it('creates a version with exactly the files of the turn, whatever characters their names have', async () => {
      const [workspace, journal] = [await openWorkspace(await create()), createTestJournal()]
      const names = ['app/a.ts', 'app/b c.ts', 'app/ünï "q".txt', 'app/.env', 'app/deep/er/x', 'top.md', 'app/__proto__', 'constructor']
      const published = await publishTurn(workspace, 'turn_1', journal, Object.fromEntries(names.map((each) => [each, each])))
      expect(published.record).toMatchObject({ status: 'published', turn_id: 'turn_1', committed: true })
      expect(await relsOf(workspace, 'turn_1', journal)).toEqual([...names].sort())
    })

    it('skips a turn without files to publish, and gives the reason', async () => {
      const [workspace, journal] = [await openWorkspace(await create()), createTestJournal()]
      const turn = await beginTurn(workspace, 'turn_1', journal)
      expect((await turn.publish()).record).toMatchObject({
        status: 'skipped',
        skipped: true,
        committed: false,
        reason: 'workspace_not_materialized',
      })
      await turn.write('node_modules/x.js', 'x')
      expect((await turn.publish()).record).toMatchObject({ status: 'skipped', reason: 'empty_workspace' })
      expect(await workspace.version('turn_1', journal)).toBe(undefined)
    })

    it('excludes outputs, attachments, caches, logs and dependency folders', async () => {
      const [workspace, journal] = [await openWorkspace(await create()), createTestJournal()]
      const turn = await beginTurn(workspace, 'turn_1', journal)
      await workspace.files.write('turn_1/outputs/report.md', Buffer.from('x'))
      await workspace.files.write('turn_1/attachments/photo.png', Buffer.from('x'))
      for (const rel of [
        'app/a.ts',
        'app/node_modules/m/i.js',
        'app/__pycache__/a.pyc',
        'app/.venv/x',
        'logs/l',
        'app/executed_programs/p',
      ]) {
        await turn.write(rel, rel)
      }
      await turn.publish()
      expect(await relsOf(workspace, 'turn_1', journal)).toEqual(['app/a.ts'])
    })

    it('keeps every file that a tool has recorded, whatever its name is, and says which other files were left out', async () => {
      const [workspace, journal] = [await openWorkspace(await create()), createTestJournal()]
      const first = await beginTurn(workspace, 'turn_1', journal)
      const written = ['app/.gitignore', 'app/logs/today.md', 'app/node_modules/own.js', 'app/secret.txt', 'logs/today.md']
      await first.writeRecorded('app/.gitignore', 'secret.txt\n')
      for (const rel of written.slice(1)) await first.writeRecorded(rel, rel)
      for (const rel of ['app/node_modules/m/i.js', 'logs/debug.log', 'app/.venv/bin']) await first.write(rel, rel)
      const { record } = await first.publish()
      expect(await relsOf(workspace, 'turn_1', journal)).toEqual(written)
      expect([...(record.left_out ?? [])].sort((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
        { name: 'app/.venv', files: 1 },
        { name: 'app/node_modules', files: 1 },
        { name: 'logs', files: 1 },
      ])

      // A later turn that checks out these files keeps them, whether it changes them or not.
      const second = await beginTurn(workspace, 'turn_2', journal)
      expect((await second.checkout('replace', ['turn_1'])).ok).toBe(true)
      await second.write('logs/today.md', 'changed by a program')
      await second.remove('app/logs/today.md')
      expect((await second.publish()).record.left_out).toBe(undefined)
      expect(await relsOf(workspace, 'turn_2', journal)).toEqual(written.filter((rel) => rel !== 'app/logs/today.md'))
      const third = await beginTurn(workspace, 'turn_3', journal)
      await third.checkout('replace', ['turn_2/logs'])
      expect(await third.files()).toEqual({ 'logs/today.md': 'changed by a program' })
    })

    it('a checkout does not replace recorded files of an excluded name unless it is forced', async () => {
      const [workspace, journal] = [await openWorkspace(await create()), createTestJournal()]
      await publishTurn(workspace, 'turn_1', journal, { 'app/a': '1' })
      const turn = await beginTurn(workspace, 'turn_2', journal)
      await turn.writeRecorded('logs/today.md', 'mine')
      expect(await turn.checkout('replace', ['turn_1'])).toMatchObject({ ok: false, code: 'nonempty' })
      expect(await turn.files()).toEqual({ 'logs/today.md': 'mine' })
    })

    it('adds the files of the turn to the previous version when the turn has checked out nothing', async () => {
      const [workspace, journal] = [await openWorkspace(await create()), createTestJournal()]
      await publishTurn(workspace, 'turn_1', journal, { 'app/a': '1', 'app/b': '1', 'notes/n': '1', 'top.md': '1' })
      await publishTurn(workspace, 'turn_2', journal, { 'app/a': '2', 'new/x': '2' })
      expect(await relsOf(workspace, 'turn_2', journal)).toEqual(['app/a', 'app/b', 'new/x', 'notes/n', 'top.md'])
      expect(await relsOf(workspace, 'turn_1', journal)).toEqual(['app/a', 'app/b', 'notes/n', 'top.md'])
    })

    for (const mode of ['replace', 'overlay'] as const) {
      it(`deletes only what the folder of the turn has held, when a part of a top-level folder was checked out (${mode})`, async () => {
        const [workspace, journal] = [await openWorkspace(await create()), createTestJournal()]
        await publishTurn(workspace, 'turn_1', journal, { 'app/a': '1', 'app/b': '1', 'app/sub/c': '1', 'app/sub/d': '1', 'notes/n': '1' })
        const turn = await beginTurn(workspace, 'turn_2', journal)
        await turn.checkout(mode, ['turn_1/app/sub', 'turn_1/app/a'])
        await turn.remove('app/sub/c')
        await turn.write('app/sub/d', '2')
        await turn.publish()
        expect(await relsOf(workspace, 'turn_2', journal)).toEqual(['app/a', 'app/b', 'app/sub/d', 'notes/n'])
      })
    }

    it('deletes what a replace took out of the folder of the turn, and nothing that was never in it', async () => {
      const [workspace, journal] = [await openWorkspace(await create()), createTestJournal()]
      await publishTurn(workspace, 'turn_1', journal, { 'app/a': '1', 'app/sub/c': '1', 'notes/n': '1' })
      await publishTurn(workspace, 'turn_2', journal, { 'notes/new': '2', 'plan/p': '2' })
      const turn = await beginTurn(workspace, 'turn_3', journal)
      await turn.checkout('replace', ['turn_1/app/sub'])
      await turn.checkout('replace', ['turn_1/notes/n'])
      await turn.publish()
      expect(await relsOf(workspace, 'turn_3', journal)).toEqual(['app/a', 'notes/n', 'notes/new', 'plan/p'])
    })

    it('deletes a file that a tool wrote and a program removed, and keeps one whose change a forced replace undid', async () => {
      const [workspace, journal] = [await openWorkspace(await create()), createTestJournal()]
      await publishTurn(workspace, 'turn_1', journal, { 'app/a': '1', 'app/b': '1', 'notes/n': '1' })
      const removed = await beginTurn(workspace, 'turn_2', journal)
      await removed.writeRecorded('app/a', '2')
      await removed.remove('app/a')
      await removed.publish()
      expect(await relsOf(workspace, 'turn_2', journal)).toEqual(['app/b', 'notes/n'])
      const undone = await beginTurn(workspace, 'turn_3', journal)
      await undone.writeRecorded('app/b', '3')
      await undone.checkout('replace', ['turn_2/notes'], true)
      await undone.publish()
      expect(await relsOf(workspace, 'turn_3', journal)).toEqual(['app/b', 'notes/n'])
    })

    it('lets a file take the place of a folder of the previous version, and the other way round', async () => {
      const [workspace, journal] = [await openWorkspace(await create()), createTestJournal()]
      await publishTurn(workspace, 'turn_1', journal, { 'app/a': '1', 'app/b/c': '1', lib: '1' })
      await publishTurn(workspace, 'turn_2', journal, { 'app/a/x': '2', 'app/b': '2', 'lib/y': '2' })
      expect(await relsOf(workspace, 'turn_2', journal)).toEqual(['app/a/x', 'app/b', 'lib/y'])
    })

    it('publishes a deleted file as deleted, and leaves the previous version and other top-level folders unchanged', async () => {
      const [workspace, journal] = [await openWorkspace(await create()), createTestJournal()]
      await publishTurn(workspace, 'turn_1', journal, { 'app/a': '1', 'app/b': '1', 'notes/n': '1' })
      const turn = await beginTurn(workspace, 'turn_2', journal)
      await turn.checkout('replace', ['turn_1/app'])
      await turn.remove('app/b')
      expect((await turn.publish()).record).toMatchObject({ committed: true })
      expect(await relsOf(workspace, 'turn_2', journal)).toEqual(['app/a', 'notes/n'])
      expect(await relsOf(workspace, 'turn_1', journal)).toEqual(['app/a', 'app/b', 'notes/n'])
    })

    it('publishes the deletion of a whole top-level folder, and of all files', async () => {
      const [workspace, journal] = [await openWorkspace(await create()), createTestJournal()]
      await publishTurn(workspace, 'turn_1', journal, { 'app/a': '1', 'notes/n': '1' })
      const second = await beginTurn(workspace, 'turn_2', journal)
      await second.checkout('replace', ['turn_1/app'])
      await second.remove('app/a')
      await second.publish()
      expect(await relsOf(workspace, 'turn_2', journal)).toEqual(['notes/n'])
      const third = await beginTurn(workspace, 'turn_3', journal)
      await third.checkout('replace', ['turn_2'])
      await third.remove('notes/n')
      await third.publish()
      expect(await relsOf(workspace, 'turn_3', journal)).toEqual([])
    })

    it('takes a top-level folder exactly as it was in an older version, when all of it is checked out', async () => {
      const [workspace, journal] = [await openWorkspace(await create()), createTestJournal()]
      await publishTurn(workspace, 'turn_1', journal, { 'app/a': '1' })
      await publishTurn(workspace, 'turn_2', journal, { 'app/a': '2', 'app/c': '2', 'notes/n': '2' })
      const turn = await beginTurn(workspace, 'turn_3', journal)
      await turn.checkout('replace', ['turn_1'])
      await turn.publish()
      expect(await relsOf(workspace, 'turn_3', journal)).toEqual(['app/a', 'notes/n'])
      const exact = await beginTurn(workspace, 'turn_4', journal)
      await exact.checkout('replace', ['turn_3'])
      await exact.checkout('replace', ['turn_1'])
      await exact.publish()
      expect(await relsOf(workspace, 'turn_4', journal)).toEqual(['app/a'])
    })

    it('gives an unchanged turn the version of the previous turn', async () => {
      const [workspace, journal] = [await openWorkspace(await create()), createTestJournal()]
      await publishTurn(workspace, 'turn_1', journal, { 'app/a': '1' })
      const turn = await beginTurn(workspace, 'turn_2', journal)
      await turn.checkout('replace', ['turn_1/app'])
      const { record } = await turn.publish()
      expect(record).toMatchObject({ status: 'published', committed: false, version_aliased: true, reason: 'workspace_unchanged' })
      expect(await relsOf(workspace, 'turn_2', journal)).toEqual(['app/a'])
    })

    it('finds the files of a turn unchanged when the turn is started again', async () => {
      const fixture = await create()
      const [workspace, journal] = [await openWorkspace(fixture), createTestJournal()]
      await publishTurn(workspace, 'turn_1', journal, { 'app/a': '1', 'app/b': '1' })
      const turn = await beginTurn(workspace, 'turn_2', journal)
      await turn.checkout('replace', ['turn_1/app'])
      await turn.write('app/c', '2')
      await turn.remove('app/b')
      const later = await beginTurn(await openWorkspace(fixture), 'turn_2', journal)
      expect(await later.files()).toEqual({ 'app/a': '1', 'app/c': '2' })
      await later.publish()
      expect(await relsOf(workspace, 'turn_2', journal)).toEqual(['app/a', 'app/c'])
    })

    it('describes the turn roots, the editable top-level entries and the last checkout', async () => {
      const [workspace, journal] = [await openWorkspace(await create()), createTestJournal()]
      await publishTurn(workspace, 'turn_1', journal, { 'app/a': '1', 'app/b': '1', 'notes/n': '1' })
      const turn = await beginTurn(workspace, 'turn_2', journal)
      await turn.checkout('replace', ['turn_1/app'])
      await turn.write('top.md', '2')
      expect(await workspace.describe('turn_2')).toMatchObject({
        currentTurnRoot: 'turn_2/',
        turnRoots: ['turn_1/', 'turn_2/'],
        editable: [
          { name: 'app', files: 2 },
          { name: 'top.md', files: 1 },
        ],
        checkedOutFrom: 'fi:turn_1.files/app',
        checkoutMode: 'replace',
      })
    })
  })
}

function describeConversations({ describe, it, expect }: TestRunner, name: string, create: CreateWorkspaceFixture): void {
  describe(`${name} separates conversations`, () => {
    const names = ['a', 'A', 'a/b', 'a%2Fb', '..', 'a.lock', 'ä', 'x'.repeat(600)]

    it('keeps the files of conversations separate for any name and owner', async () => {
      const { workspaces } = await create()
      const owners = [localScope, { ...localScope, user: 'a/b' }, { ...localScope, project: 'default/local', user: 'x' }]
      const opened = await Promise.all(owners.flatMap((owner) => names.map((each) => workspaces.open(owner, each))))
      const journals = opened.map(() => createTestJournal())
      for (const [at, workspace] of opened.entries()) {
        await publishTurn(workspace, 'turn_1', journals[at] as ReturnType<typeof createTestJournal>, { [`only/${at}`]: String(at) })
      }
      for (const [at, workspace] of opened.entries()) {
        expect(await relsOf(workspace, 'turn_1', journals[at] as ReturnType<typeof createTestJournal>)).toEqual([`only/${at}`])
      }
    })

    it('removes the files of one conversation, and keeps those of the others', async () => {
      const fixture = await create()
      const [mine, yours] = [await openWorkspace(fixture, 'mine'), await openWorkspace(fixture, 'yours')]
      await publishTurn(mine, 'turn_1', createTestJournal(), { 'app/a': '1' })
      await publishTurn(yours, 'turn_1', createTestJournal(), { 'app/a': '1' })
      await fixture.workspaces.remove(localScope, 'mine')
      expect((await (await openWorkspace(fixture, 'mine')).files.list('')).files).toEqual([])
      expect((await (await openWorkspace(fixture, 'yours')).files.list('')).files.length).toBe(1)
    })
  })
}
