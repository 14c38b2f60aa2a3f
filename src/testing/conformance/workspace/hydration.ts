import { localScope } from '../../../core/scope.ts'
import type { HydrationRef } from '../../../ports/workspace.ts'
import type { TestRunner } from '../test-runner.ts'
import {
  beginTurn,
  bytes,
  type CreateWorkspaceFixture,
  contentsBelow,
  createTestJournal,
  openWorkspace,
  publishTurn,
  text,
} from './fixture.ts'

const files = (rel: string): HydrationRef => ({ area: 'files', rel })

/** Tests of pulls, which fetch files of earlier turns to this machine. */
export function describeHydration({ describe, it, expect }: TestRunner, name: string, create: CreateWorkspaceFixture): void {
  const scene = async () => {
    const fixture = await create()
    const [workspace, journal] = [await openWorkspace(fixture), createTestJournal()]
    await publishTurn(workspace, 'turn_1', journal, { 'app/a': '1', 'app/deep/b': '22', 'notes/n': '333' })
    const elsewhere = await (await fixture.elsewhere()).open(localScope, 'c1')
    await elsewhere.startTurn('turn_2')
    return { workspace, journal, elsewhere }
  }

  describe(`${name} pulls files of earlier turns`, () => {
    it('pulls a file, a folder or all files onto a machine that never had them', async () => {
      const { journal, elsewhere } = await scene()
      const pulled = await elsewhere.hydrate('turn_1', [files('app/a'), files('app')], journal)
      expect(pulled).toEqual({
        present: [
          { ref: files('app/a'), files: [{ path: 'turn_1/files/app/a', size: 1 }] },
          {
            ref: files('app'),
            files: [
              { path: 'turn_1/files/app/a', size: 1 },
              { path: 'turn_1/files/app/deep/b', size: 2 },
            ],
          },
        ],
        missing: [],
        errors: [],
        fetched: 2,
      })
      expect((await elsewhere.hydrate('turn_1', [files('')], journal)).fetched).toBe(1)
      expect(await contentsBelow(elsewhere, 'turn_1/files')).toEqual({ 'app/a': '1', 'app/deep/b': '22', 'notes/n': '333' })
      expect((await elsewhere.hydrate('turn_1', [files('')], journal)).fetched).toBe(0)
    })

    it('pulls the exact bytes: an empty file, all 256 byte values, a large file, mixed line endings', async () => {
      const fixture = await create()
      const [workspace, journal] = [await openWorkspace(fixture), createTestJournal()]
      const contents = {
        none: new Uint8Array(),
        all: Uint8Array.from({ length: 256 }, (_, i) => i),
        many: new Uint8Array(300_000).fill(10),
      }
      await workspace.startTurn('turn_1')
      for (const [rel, content] of Object.entries(contents)) await workspace.files.write(`turn_1/files/app/${rel}`, content)
      await workspace.files.write('turn_1/files/app/crlf.txt', bytes('a\r\nb\n$Id$'))
      await workspace.files.write('turn_1/files/app/.gitattributes', bytes('* text eol=crlf ident\n'))
      await journal.publish(workspace, 'turn_1')
      const elsewhere = await (await fixture.elsewhere()).open(localScope, 'c1')
      await elsewhere.hydrate('turn_1', [files('')], journal)
      for (const [rel, content] of Object.entries(contents)) {
        expect(Buffer.compare((await elsewhere.files.read(`turn_1/files/app/${rel}`)) as Uint8Array, content)).toBe(0)
      }
      expect(text(await elsewhere.files.read('turn_1/files/app/crlf.txt'))).toBe('a\r\nb\n$Id$')
    })

    it('makes the files read-only, including those that were already on this machine', async () => {
      const { workspace, journal, elsewhere } = await scene()
      await workspace.startTurn('turn_2')
      for (const machine of [workspace, elsewhere]) {
        await machine.hydrate('turn_1', [files('')], journal)
        for (const path of ['turn_1/files/app/a', 'turn_1/files/app/deep/b', 'turn_1/files/notes/n']) {
          await expect(machine.files.write(path, bytes('x'))).rejects.toMatchObject({
            code: 'file.unsafe',
            details: { reason: 'read_only' },
          })
        }
      }
    })

    it('replaces local files whose content differs from the published version', async () => {
      const { journal, elsewhere } = await scene()
      await elsewhere.files.write('turn_1/files/app/a', bytes('2'))
      await elsewhere.files.write('turn_1/files/app/deep/b', bytes('xx'), { readOnly: true })
      expect((await elsewhere.hydrate('turn_1', [files('')], journal)).fetched).toBe(3)
      expect(await contentsBelow(elsewhere, 'turn_1/files')).toEqual({ 'app/a': '1', 'app/deep/b': '22', 'notes/n': '333' })
    })

    it('pulls outputs and attachments from the journal by their exact paths', async () => {
      const { journal, elsewhere } = await scene()
      journal.record('fi:turn_1.outputs/out/report.md', bytes('report'))
      journal.record('fi:turn_1.user.attachments/photo.png', bytes('photo'))
      const refs: readonly HydrationRef[] = [
        { area: 'outputs', rel: 'out/report.md' },
        { area: 'attachments', rel: 'photo.png' },
        { area: 'outputs', rel: 'out' },
      ]
      const pulled = await elsewhere.hydrate('turn_1', refs, journal)
      expect([pulled.present.length, pulled.missing, pulled.fetched]).toEqual([2, [refs[2]], 2])
      expect(text(await elsewhere.files.read('turn_1/attachments/photo.png'))).toBe('photo')
    })

    it('reports the missing paths, and pulls the others', async () => {
      const { journal, elsewhere } = await scene()
      const pulled = await elsewhere.hydrate('turn_1', [files('nothing'), files('notes'), files('app/a/x')], journal)
      expect(pulled.missing).toEqual([files('nothing'), files('app/a/x')])
      expect(pulled.present.map(({ ref }) => ref)).toEqual([files('notes')])
    })

    it('pulls recorded files of an unpublished turn, and includes files that exist only on this machine', async () => {
      const { workspace, journal } = await scene()
      const turn = await beginTurn(workspace, 'turn_2', journal)
      await turn.writeRecorded('app/recorded', 'r')
      await turn.write('app/local', 'l')
      await workspace.startTurn('turn_3')
      const pulled = await workspace.hydrate('turn_2', [files('app')], journal)
      expect(pulled.present[0]?.files.map(({ path }) => path)).toEqual(['turn_2/files/app/local', 'turn_2/files/app/recorded'])
    })

    it('reports a version that can not be reached as an error, and takes no part of it from the journal', async () => {
      const journal = createTestJournal()
      const first = await beginTurn(await openWorkspace(await create()), 'turn_1', journal)
      await first.writeRecorded('app/a', '1')
      await first.write('app/b', '2')
      await first.publish()
      const stranger = await openWorkspace(await create()) // this workspace has the same journal, but its storage does not have the version
      const turn = await beginTurn(stranger, 'turn_2', journal)
      await turn.write('own', 'mine')
      const pulled = await stranger.hydrate('turn_1', [files('app'), { area: 'outputs', rel: 'none' }], journal)
      expect(pulled).toMatchObject({ present: [], missing: [{ area: 'outputs' }], fetched: 0 })
      expect(pulled.errors.map(({ ref, code }) => [ref, code])).toEqual([[files('app'), 'workspace_version_unavailable']])
      expect(await turn.checkout('overlay', ['turn_1/app'])).toMatchObject({ ok: false, code: 'unavailable' })
      const details = { code: 'workspace_version_unavailable' }
      await expect(stranger.readVersion('turn_1', 'app/b', journal)).rejects.toMatchObject({ details })
      expect((await stranger.files.list('')).files.map(({ path }) => path)).toEqual(['turn_2/files/own'])
    })

    it('does not take a path from the journal that its turn has deleted', async () => {
      const { workspace, journal, elsewhere } = await scene()
      const turn = await beginTurn(workspace, 'turn_2', journal)
      await turn.writeRecorded('made/x', 'x')
      await turn.writeRecorded('made/y', 'y')
      await turn.remove('made/x')
      await turn.publish()
      const emptied = await beginTurn(workspace, 'turn_3', journal)
      await emptied.writeRecorded('more/z', 'z')
      await emptied.remove('more/z')
      await emptied.publish()
      for (const machine of [workspace, elsewhere]) {
        await machine.startTurn('turn_4')
        const pulled = await machine.hydrate('turn_2', [files('made/x'), files('made')], journal)
        expect(pulled.missing).toEqual([files('made/x')])
        expect(pulled.present.flatMap((each) => each.files)).toEqual([{ path: 'turn_2/files/made/y', size: 1 }])
        expect((await machine.hydrate('turn_3', [files('more/z')], journal)).missing).toEqual([files('more/z')])
      }
    })

    it('does not take the only file of a conversation from the journal after its turn has deleted it', async () => {
      const [workspace, journal] = [await openWorkspace(await create()), createTestJournal()]
      const turn = await beginTurn(workspace, 'turn_1', journal)
      await turn.writeRecorded('app/a', '1')
      await turn.remove('app/a')
      expect((await turn.publish()).record.reason).toBe('empty_workspace')
      await workspace.startTurn('turn_2')
      expect(await workspace.hydrate('turn_1', [files('app/a')], journal)).toMatchObject({ present: [], missing: [files('app/a')] })
    })

    it('does not overwrite files of the running turn, and fetches those that are missing on this machine', async () => {
      const { journal, elsewhere } = await scene()
      await elsewhere.files.write('turn_2/files/app/a', bytes('mine'))
      journal.record('fi:turn_2.files/app/a', bytes('older'))
      journal.record('fi:turn_2.user.attachments/photo.png', bytes('photo'))
      const pulled = await elsewhere.hydrate('turn_2', [files('app/a'), { area: 'attachments', rel: 'photo.png' }], journal)
      expect(pulled.fetched).toBe(1)
      expect(text(await elsewhere.files.read('turn_2/files/app/a'))).toBe('mine')
      await elsewhere.files.write('turn_2/files/app/a', bytes('still mine'))
    })
  })
}
