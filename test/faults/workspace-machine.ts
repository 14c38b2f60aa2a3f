import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFileBlobs } from '../../src/adapters/blobs/file.ts'
import { createCustomWorkspaces } from '../../src/adapters/workspace/custom/custom.ts'
import { createGitWorkspaces } from '../../src/adapters/workspace/git/git.ts'
import { parseJson } from '../../src/core/json.ts'
import { localScope } from '../../src/core/scope.ts'
import type { RecordedFiles, Workspace } from '../../src/ports/workspace.ts'
import { foldersOnDisk } from '../support/workspace-folders.ts'

export type Kind = 'custom' | 'git'

export const FILES = 24

/** Every file says the same: what is mixed shows at once. */
export const contentsOf = (word: string): ReadonlyMap<string, Uint8Array> =>
  new Map(Array.from({ length: FILES }, (_, n) => [`app/part-${n % 7}/${n}.txt`, Buffer.from(`${word} ${n}`)]))

/** A workspace on disk whose journal is a file of lines, one for each publish. Whoever opens the folder has both. */
export async function openWorkspaceFolder(
  folder: string,
  kind: Kind,
): Promise<{ workspace: Workspace; history: RecordedFiles; publish(turnId: string): Promise<void>; turns(): readonly string[] }> {
  const blobs = createFileBlobs({ folder: join(folder, 'blobs') })
  const place = join(folder, 'workspaces')
  const workspaces =
    kind === 'git'
      ? createGitWorkspaces({ ...foldersOnDisk(place), root: place })
      : createCustomWorkspaces({ ...foldersOnDisk(place), blobs })
  const workspace = await workspaces.open(localScope, 'c1')
  const journal = join(folder, 'journal')
  const records = () =>
    (existsSync(journal) ? readFileSync(journal, 'utf8') : '')
      .split('\n')
      .map((line) => parseJson(line) as { turn_id: string } | undefined) // the last line may be torn
      .filter((record) => record !== undefined)
  const history: RecordedFiles = {
    bytes: async () => undefined,
    paths: async () => [],
    manifest: async (turnId) => records().findLast((record) => record.turn_id === turnId),
  }
  return {
    workspace,
    history,
    async publish(turnId) {
      const previous = records().findLast((record) => record.turn_id !== turnId)?.turn_id
      const { record, status } = await workspace.publish(turnId, { previous }, history)
      if (status !== 'published') throw new Error(JSON.stringify(record))
      appendFileSync(journal, `${JSON.stringify(record)}\n`)
    },
    turns: () => records().map(({ turn_id }) => turn_id),
  }
}
