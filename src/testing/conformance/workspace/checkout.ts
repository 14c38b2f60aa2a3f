import type { TestRunner } from '../test-runner.ts'
import { beginTurn, type CreateWorkspaceFixture, createTestJournal, openWorkspace, publishTurn } from './fixture.ts'

/** Tests of `checkout`, which copies files of earlier turns into the running turn. */
export function describeCheckout({ describe, it, expect }: TestRunner, name: string, create: CreateWorkspaceFixture): void {
  const scene = async () => {
    const [workspace, journal] = [await openWorkspace(await create()), createTestJournal()]
    await publishTurn(workspace, 'turn_1', journal, { 'app/a': '1', 'app/b': '1', 'lib/l': '1' })
    const second = await beginTurn(workspace, 'turn_2', journal)
    await second.checkout('replace', ['turn_1/app'])
    await second.remove('app/b')
    await second.write('app/a', '2')
    await second.write('docs/d', '2')
    await second.publish()
    return { workspace, journal, turn: await beginTurn(workspace, 'turn_3', journal) }
  }

  describe(`${name} checks out files of earlier turns`, () => {
    it('replace leaves exactly the files of the sources; a file of a later source replaces the same file of an earlier one', async () => {
      const { turn } = await scene()
      const outcome = await turn.checkout('replace', ['turn_1/app', 'turn_2/app', 'turn_2/docs/d'])
      expect(outcome).toEqual({
        ok: true,
        checkedOut: [
          { source: { turnId: 'turn_1', rel: 'app' }, files: 2 },
          { source: { turnId: 'turn_2', rel: 'app' }, files: 1 },
          { source: { turnId: 'turn_2', rel: 'docs/d' }, files: 1 },
        ],
        checkedOutFrom: [
          { turnId: 'turn_1', rel: 'app' },
          { turnId: 'turn_2', rel: 'app' },
          { turnId: 'turn_2', rel: 'docs/d' },
        ],
        files: ['app/a', 'app/b', 'docs/d'],
      })
      expect(await turn.files()).toEqual({ 'app/a': '2', 'app/b': '1', 'docs/d': '2' })
      await turn.checkout('replace', ['turn_1/lib'])
      expect(await turn.files()).toEqual({ 'lib/l': '1' })
    })

    it('overlay keeps existing files, overwrites those that a source also has, and adds to the list of sources', async () => {
      const { turn } = await scene()
      await turn.write('app/own', 'mine')
      await turn.write('app/.env', 'mine')
      await turn.write('app/a', 'mine')
      await turn.checkout('overlay', ['turn_1/app'])
      expect(await turn.files()).toEqual({ 'app/.env': 'mine', 'app/a': '1', 'app/b': '1', 'app/own': 'mine' })
      const again = await turn.checkout('overlay', ['turn_2/app', 'turn_1/app'])
      expect(again.ok && again.checkedOutFrom).toEqual([
        { turnId: 'turn_1', rel: 'app' },
        { turnId: 'turn_2', rel: 'app' },
      ])
    })

    it('rejects replace when it would discard work of this turn, unless forced', async () => {
      const { turn } = await scene()
      await turn.checkout('replace', ['turn_1/app'])
      await turn.checkout('replace', ['turn_2/app']) // allowed, because this turn has not written to the scope `app` itself
      await turn.write('app/own', 'mine')
      const refused = await turn.checkout('replace', ['turn_1/app'])
      expect(refused).toMatchObject({ ok: false, code: 'nonempty' })
      expect(await turn.files()).toEqual({ 'app/a': '2', 'app/own': 'mine' })
      expect(await turn.checkout('replace', ['turn_1/app'], true)).toMatchObject({ ok: true })
      expect(await turn.files()).toEqual({ 'app/a': '1', 'app/b': '1' })
    })

    it('counts a changed file as work of this turn, but not a removed file', async () => {
      const { turn } = await scene()
      await turn.checkout('replace', ['turn_1/app'])
      await turn.remove('app/b')
      expect(await turn.checkout('replace', ['turn_1/app'])).toMatchObject({ ok: true })
      await turn.write('app/b', 'changed')
      expect(await turn.checkout('replace', ['turn_1/app'])).toMatchObject({ ok: false, code: 'nonempty' })
      expect(await turn.files()).toEqual({ 'app/a': '1', 'app/b': 'changed' })
    })

    it('changes nothing when one source is missing, and names that source', async () => {
      const { turn } = await scene()
      await turn.checkout('replace', ['turn_1/app'])
      for (const absent of ['turn_1/nothing', 'turn_9', 'turn_2/app/a/x', 'turn_1/ap']) {
        const outcome = await turn.checkout('overlay', ['turn_2/docs', absent])
        expect(outcome).toMatchObject({ ok: false, code: 'missing' })
        expect(outcome.ok || outcome.problems.map(({ source }) => source?.turnId)).toEqual([absent.slice(0, 6)])
      }
      expect(await turn.files()).toEqual({ 'app/a': '1', 'app/b': '1' })
    })

    it('lets a file of a later source replace a folder of an earlier one, and the other way round', async () => {
      const { workspace, journal } = await scene()
      await publishTurn(workspace, 'turn_4', journal, { 'x/file': '4', 'y/folder/in': '4' })
      await publishTurn(workspace, 'turn_5', journal, { 'x/file/in': '5', 'y/folder': '5' })
      const turn = await beginTurn(workspace, 'turn_6', journal)
      await turn.checkout('replace', ['turn_4', 'turn_5'])
      const files = await turn.files()
      expect([files['x/file/in'], files['y/folder'], files['x/file'], files['y/folder/in']]).toEqual(['5', '5', undefined, undefined])
    })

    it('checks out files that a turn recorded but never published', async () => {
      const { workspace, journal } = await scene()
      const failed = await beginTurn(workspace, 'turn_4', journal)
      await failed.writeRecorded('app/half', 'done')
      const turn = await beginTurn(workspace, 'turn_5', journal)
      await turn.checkout('replace', ['turn_4/app'])
      expect(await turn.files()).toEqual({ 'app/half': 'done' })
      await turn.publish()
      expect((await workspace.version('turn_5', journal))?.map(({ rel }) => rel)).toEqual(['app/half', 'docs/d', 'lib/l'])
    })
  })
}
