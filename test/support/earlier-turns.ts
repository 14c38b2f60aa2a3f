import { createMemoryFiles } from '../../src/adapters/files/memory.ts'
import { createMemoryWorkspaces } from '../../src/adapters/workspace/custom/custom.ts'
import { type Draft, publishBlock } from '../../src/core/block/index.ts'
import { localScope } from '../../src/core/scope.ts'
import type { BlobStore } from '../../src/ports/blobs.ts'
import type { Workspace } from '../../src/ports/workspace.ts'
import { minute } from '../../src/testing/blocks.ts'
import { createTestJournal, publishTurn } from '../../src/testing/conformance/workspace/fixture.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { toolFixture } from './tool-fixture.ts'

const machine = (blobs: BlobStore) => createMemoryWorkspaces({ blobs, createFiles: createMemoryFiles })

/** A conversation whose earlier turns have published files. These files are not in the local workspace. The turn `turn_c` is running. */
export async function afterEarlierTurns(
  turns: Readonly<Record<string, Record<string, string>>>,
  more: (blobs: BlobStore) => Promise<readonly Draft[]> = async () => [],
) {
  let workspace: Workspace | undefined
  const harness = await toolFixture(
    async (blobs) => {
      const journal = createTestJournal()
      const before = await machine(blobs).open(localScope, 'c1')
      workspace = await machine(blobs).open(localScope, 'c1')
      const drafts: Draft[] = []
      for (const [turnId, files] of Object.entries(turns)) {
        drafts.push(publishBlock(turnId, minute(1), await publishTurn(before, turnId, journal, files)))
      }
      return [...drafts, ...(await more(blobs))]
    },
    { turnId: 'turn_c' },
  )
  const own = workspace as Workspace
  await own.startTurn('turn_c')
  const call = { ...harness.call, workspace: async () => own }
  const read = async (path: string) => {
    const bytes = await own.files.read(path)
    return bytes && Buffer.from(bytes).toString()
  }
  return { ...harness, call, workspace: own, read, run: (tool: Tool, params: object) => tool.run(params as Record<string, unknown>, call) }
}
