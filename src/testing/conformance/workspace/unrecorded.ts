import { localScope } from '../../../core/scope.ts'
import type { Workspace } from '../../../ports/workspace.ts'
import type { TestRunner } from '../test-runner.ts'
import {
  beginTurn,
  type CreateWorkspaceFixture,
  createTestJournal,
  openWorkspace,
  publishTime,
  publishTurn,
  relsOf,
  type TestJournal,
} from './fixture.ts'

/** Tests of versions whose record is not in the journal, because the turn continued after the publish, or because the process died. */
export function describeUnrecorded({ describe, it, expect }: TestRunner, name: string, create: CreateWorkspaceFixture): void {
  const scene = async () => {
    const fixture = await create()
    const other = await (await fixture.elsewhere()).open(localScope, 'c1')
    return { fixture, workspace: await openWorkspace(fixture), other, journal: createTestJournal() }
  }

  describe(`${name} publishes versions that the journal does not record`, () => {
    it('can publish a turn again, even after more files were written', async () => {
      const [workspace, journal] = [await openWorkspace(await create()), createTestJournal()]
      const turn = await beginTurn(workspace, 'turn_1', journal)
      await turn.write('app/a', '1')
      const once = await workspace.publish('turn_1', { at: publishTime, previous: undefined }, journal)
      const again = await workspace.publish('turn_1', { at: publishTime, previous: undefined }, journal)
      expect(again.record).toEqual(once.record)
      await turn.write('app/b', '2')
      await turn.publish()
      expect(await relsOf(workspace, 'turn_1', journal)).toEqual(['app/a', 'app/b'])
    })

    it('publishes a turn again with the files that its folder has at that time, also from another machine', async () => {
      const fixture = await create()
      const [workspace, journal] = [await openWorkspace(fixture), createTestJournal()]
      await publishTurn(workspace, 'turn_1', journal, { 'app/a': '1' })
      const turn = await beginTurn(workspace, 'turn_2', journal)
      await turn.write('app/left-by-a-program', 'x')
      await turn.write('lib/b', '2')
      const request = { at: publishTime, previous: 'turn_1' }
      // The record of this version is not written to the journal, so the turn can still continue.
      await workspace.publish('turn_2', request, journal)
      await turn.remove('app/left-by-a-program')
      expect((await workspace.publish('turn_2', request, journal)).status).toBe('published')
      const other = await (await fixture.elsewhere()).open(localScope, 'c1')
      const resumed = await beginTurn(other, 'turn_2', journal)
      await resumed.write('lib/c', '3')
      await resumed.publish()
      for (const machine of [other, await (await fixture.elsewhere()).open(localScope, 'c1')]) {
        expect(await relsOf(machine, 'turn_2', journal)).toEqual(['app/a', 'lib/c'])
      }
    })

    it('does not take files of an unrecorded version into later versions, nor show them, on any machine', async () => {
      const { workspace, other, journal } = await scene()
      await publishUnrecorded(workspace, 'turn_1', journal, { 'app/a': '1', stray: '1' })
      const second = await beginTurn(other, 'turn_2', journal, { adopt: undefined })
      expect((await other.describe('turn_2')).lineage ?? []).toEqual([])
      await second.write('app/b', '2')
      expect((await second.publish()).record).toMatchObject({ status: 'published', committed: true })
      await publishUnrecorded(other, 'turn_3', journal, { 'lib/c': '3' }, 'turn_2')
      for (const [turnId, machine] of [['turn_4', workspace] as const, ['turn_5', other] as const]) {
        const turn = await beginTurn(machine, turnId, journal, { adopt: 'turn_2' })
        await turn.checkout('replace', ['turn_2'])
        expect([turnId, (await turn.publish()).record]).toMatchObject([turnId, { reason: 'workspace_unchanged' }])
      }
      const last = await beginTurn(workspace, 'turn_6', journal, { adopt: 'turn_5' })
      await last.write('app/d', '6')
      await last.publish()
      for (const machine of [workspace, other]) {
        const versions = ['turn_1', 'turn_2', 'turn_3', 'turn_4', 'turn_5', 'turn_6'].map((turnId) => relsOf(machine, turnId, journal))
        expect(await Promise.all(versions)).toEqual([undefined, ['app/b'], undefined, ['app/b'], ['app/b'], ['app/b', 'app/d']])
      }
    })

    it('says that a turn has changed files if its version equals an unrecorded version and differs from the recorded one before', async () => {
      const { workspace, other, journal } = await scene()
      await publishTurn(workspace, 'turn_1', journal, { a: '1' })
      await publishUnrecorded(workspace, 'turn_2', journal, { b: '2' }, 'turn_1')
      expect((await publishTurn(other, 'turn_3', journal, { b: '2' })).record).toMatchObject({ status: 'published', committed: true })
      expect(await relsOf(workspace, 'turn_3', journal)).toEqual(['a', 'b'])
    })

    it('has an empty version for a turn that published files before it deleted all of them', async () => {
      const { workspace, other, journal } = await scene()
      const turn = await beginTurn(workspace, 'turn_1', journal)
      await turn.writeRecorded('a', '1')
      await workspace.publish('turn_1', { at: publishTime, previous: undefined }, journal)
      await turn.remove('a')
      expect((await turn.publish()).record).toMatchObject({ reason: 'empty_workspace' })
      for (const machine of [workspace, other]) {
        expect([await relsOf(machine, 'turn_1', journal), await machine.readVersion('turn_1', 'a', journal)]).toEqual([
          undefined,
          'missing',
        ])
      }
    })

    it('keeps the recorded version when a process without the claim publishes the turn once more', async () => {
      const { workspace, other, journal } = await scene()
      await publishTurn(workspace, 'turn_1', journal, { a: '1' })
      await publishUnrecorded(other, 'turn_1', journal, { late: 'x' })
      for (const machine of [workspace, other]) expect(await relsOf(machine, 'turn_1', journal)).toEqual(['a'])
      await publishTurn(other, 'turn_2', journal, { b: '2' })
      expect(await relsOf(workspace, 'turn_2', journal)).toEqual(['a', 'b'])
    })
  })
}

/** Publishes a turn with these files. The process dies before the journal has the record. */
async function publishUnrecorded(
  workspace: Workspace,
  turnId: string,
  journal: TestJournal,
  files: Record<string, string>,
  previous?: string,
): Promise<void> {
  const turn = await beginTurn(workspace, turnId, journal)
  for (const [rel, content] of Object.entries(files)) await turn.write(rel, content)
  await workspace.publish(turnId, { at: publishTime, previous }, journal)
}
