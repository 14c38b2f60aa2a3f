import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestRunner } from '../test-runner.ts'
import { beginTurn, bytes, type CreateWorkspaceFixture, createTestJournal, openWorkspace, relsOf, text } from './fixture.ts'

/** Tests of `onDisk`: a program works in the folders of a workspace by their paths on disk. */
export function describePrograms({ describe, it, expect }: TestRunner, name: string, create: CreateWorkspaceFixture): void {
  describe(`${name} lets programs work on disk`, () => {
    it('gives a program the files of all turns, and keeps what the program writes, changes and removes', async () => {
      const [workspace, journal] = [await openWorkspace(await create()), createTestJournal()]
      await workspace.files.write('turn_0/files/app/old.txt', bytes('old'), { readOnly: true })
      const turn = await beginTurn(workspace, 'turn_1', journal)
      await turn.write('app/changed.txt', 'before')
      await turn.write('app/removed.txt', 'before')
      const seen = await workspace.onDisk('turn_1', async ({ out, work }) => {
        const files = join(out, 'turn_1', 'files')
        await writeFile(join(files, 'app/changed.txt'), 'after')
        await writeFile(join(files, 'app/.env'), 'new')
        await rm(join(files, 'app/removed.txt'))
        await writeFile(join(out, 'turn_1', 'outputs', 'report.txt'), 'report')
        await writeFile(join(work, 'note.txt'), 'note')
        return readFile(join(out, 'turn_0/files/app/old.txt'), 'utf8')
      })
      workspace.programRan()
      expect(seen).toBe('old')
      expect(await turn.files()).toEqual({ 'app/.env': 'new', 'app/changed.txt': 'after' })
      expect(text(await workspace.files.read('turn_1/outputs/report.txt'))).toBe('report')
      expect(text(await workspace.scratch.read('note.txt'))).toBe('note')
      await turn.publish()
      expect(await relsOf(workspace, 'turn_1', journal)).toEqual(['app/.env', 'app/changed.txt'])
    })

    it('makes the folders of a turn that has no files yet', async () => {
      const [workspace, journal] = [await openWorkspace(await create()), createTestJournal()]
      const turn = await beginTurn(workspace, 'turn_1', journal)
      await workspace.onDisk('turn_1', ({ out }) => writeFile(join(out, 'turn_1/files/a.txt'), 'a'))
      workspace.programRan()
      expect(await turn.files()).toEqual({ 'a.txt': 'a' })
    })

    it('keeps what a program wrote before it failed', async () => {
      const [workspace, journal] = [await openWorkspace(await create()), createTestJournal()]
      const turn = await beginTurn(workspace, 'turn_1', journal)
      const failing = workspace.onDisk('turn_1', async ({ out }) => {
        await writeFile(join(out, 'turn_1/files/half.txt'), 'half')
        throw new RangeError('too late')
      })
      await expect(failing).rejects.toMatchObject({ message: 'too late' })
      expect(await turn.files()).toEqual({ 'half.txt': 'half' })
    })

    it('rejects a link that a program made when it is read on disk, and takes no file from outside of the workspace', async () => {
      const [workspace, journal] = [await openWorkspace(await create()), createTestJournal()]
      const turn = await beginTurn(workspace, 'turn_1', journal)
      await workspace.onDisk('turn_1', async ({ out, files }) => {
        await mkdir(join(out, 'turn_1/files/app'), { recursive: true })
        await symlink('/etc/passwd', join(out, 'turn_1/files/app/link.txt'))
        await expect(files.read('turn_1/files/app/link.txt')).rejects.toMatchObject({ details: { reason: 'symlink_blocked' } })
      })
      workspace.programRan()
      expect(await turn.files()).toEqual({})
    })

    it('lets a later program repair the folder that an earlier one has replaced by a file', async () => {
      const [workspace, journal] = [await openWorkspace(await create()), createTestJournal()]
      const turn = await beginTurn(workspace, 'turn_1', journal)
      const outputs = (out: string) => join(out, 'turn_1/outputs')
      await workspace.onDisk('turn_1', async ({ out }) => {
        await rm(outputs(out), { recursive: true })
        await writeFile(outputs(out), 'a file')
      })
      await workspace.onDisk('turn_1', async ({ out }) => {
        await rm(outputs(out), { recursive: true })
        await writeFile(join(out, 'turn_1/files/a.txt'), 'a')
      })
      workspace.programRan()
      expect(await turn.files()).toEqual({ 'a.txt': 'a' })
    })

    it('gives programs the folder with the context files', async () => {
      const [workspace, journal] = [await openWorkspace(await create()), createTestJournal()]
      await beginTurn(workspace, 'turn_1', journal)
      await workspace.runtime.write('timeline.json', bytes('{}'))
      expect(await workspace.onDisk('turn_1', ({ runtime }) => readFile(join(runtime, 'timeline.json'), 'utf8'))).toBe('{}')
    })
  })
}
