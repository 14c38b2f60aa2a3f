import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFileBlobs } from '../../src/adapters/blobs/file.ts'
import { createCustomWorkspaces } from '../../src/adapters/workspace/custom/custom.ts'
import { createGitWorkspaces } from '../../src/adapters/workspace/git/git.ts'
import { parseJson } from '../../src/core/json.ts'
import { localScope } from '../../src/core/scope.ts'
import type { RecordedFiles, Workspace } from '../../src/ports/workspace.ts'
import { publishTime } from '../../src/testing/conformance/workspace/fixture.ts'
import { foldersOnDisk } from '../support/workspace-folders.ts'

export type Kind = 'custom' | 'git'

export const FILES = 24

/** The files of a turn. Every file contains the id of the turn, so that a mix of two versions is detected. */
export const contentsOf = (turnId: string): ReadonlyMap<string, Uint8Array> =>
  new Map(Array.from({ length: FILES }, (_, n) => [`app/part-${n % 7}/${n}.txt`, Buffer.from(`${turnId} ${n}`)]))

/** Opens a workspace on disk. A file with one line for each publish takes the place of its journal. */
export async function openWorkspaceFolder(
  folder: string,
  kind: Kind,
): Promise<{ workspace: Workspace; history: RecordedFiles; publish(turnId: string): Promise<void>; turns(): readonly string[] }> {
  const blobs = createFileBlobs({ folder: join(folder, 'blobs') })
  const root = join(folder, 'workspaces')
  const workspaces =
    kind === 'git'
      ? createGitWorkspaces({ ...foldersOnDisk(root), root, blobs })
      : createCustomWorkspaces({ ...foldersOnDisk(root), blobs })
  const workspace = await workspaces.open(localScope, 'c1')
  const journal = join(folder, 'journal')
  const records = () =>
    (existsSync(journal) ? readFileSync(journal, 'utf8') : '')
      .split('\n')
      // the last line may be incomplete, because the process was killed
      .map((line) => parseJson(line) as { turn_id: string; keeps: string[] } | undefined)
      .filter((record) => record !== undefined)
  const history: RecordedFiles = {
    bytes: async () => undefined,
    paths: async () => [],
    made: async () => [],
    manifest: async (turnId) => records().findLast((record) => record.turn_id === turnId),
    keeps: async (turnId) => new Set(records().findLast((record) => record.turn_id === turnId)?.keeps),
    hasTurn: async () => true,
  }
  return {
    workspace,
    history,
    async publish(turnId) {
      const previous = records().findLast((record) => record.turn_id !== turnId)?.turn_id
      const { record, status, keeps = [] } = await workspace.publish(turnId, { at: publishTime, previous }, history)
      if (status !== 'published') throw new Error(JSON.stringify(record))
      appendFileSync(journal, `${JSON.stringify({ ...record, keeps: keeps.map(({ sha256 }) => sha256) })}\n`)
    },
    turns: () => records().map(({ turn_id }) => turn_id),
  }
}
