import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { z } from 'zod'
import { createMemoryBlobs } from '../../../src/adapters/blobs/memory.ts'
import { createMemoryStore } from '../../../src/adapters/store/memory/store.ts'
import { createCustomWorkspaces } from '../../../src/adapters/workspace/custom/custom.ts'
import { createGitWorkspaces } from '../../../src/adapters/workspace/git/git.ts'
import { blocksOfChange } from '../../../src/core/timeline/change.ts'
import type { BlobStore } from '../../../src/ports/blobs.ts'
import { createFixedClock } from '../../../src/testing/fixed-clock.ts'
import { createHarness } from '../../../src/testing/harness.ts'
import { type HostilePlace, plantHostileFiles } from '../../../src/testing/hostile-files.ts'
import { type Reply, reply } from '../../../src/testing/scripted-model.ts'
import { defineTool } from '../../../src/tools/define.ts'
import { hostingOn } from '../hosting.ts'
import { foldersOnDisk } from '../workspace-folders.ts'

export const root = mkdtempSync(join(tmpdir(), 'daybook-tool-safety-'))
export const outsides: string[] = []

export function removeAll(): void {
  for (const folder of [root, ...outsides]) rmSync(folder, { recursive: true, force: true })
}

type Kind = 'custom' | 'git'

/** A blob store that records all bytes that are put. */
function watchedBlobs(): { readonly blobs: BlobStore; readonly put: Uint8Array[] } {
  const [real, put] = [createMemoryBlobs(), [] as Uint8Array[]]
  return {
    put,
    blobs: {
      ...real,
      put(bytes) {
        put.push(bytes)
        return real.put(bytes)
      },
    },
  }
}

/** An agent with files on a real disk. One of its tools acts as a hostile program, which changes these files between two calls. */
export function createAgentOnDisk(kind: Kind) {
  const folder = mkdtempSync(join(root, `${kind}-`))
  const { blobs, put } = watchedBlobs()
  const clock = createFixedClock()
  const { hosting, hosted } = hostingOn(blobs)
  const folders = foldersOnDisk(folder)
  const workspaces =
    kind === 'git' ? createGitWorkspaces({ ...folders, root: folder, blobs }) : createCustomWorkspaces({ ...folders, blobs })
  const outDir = join(folder, 'local/default/local/c1/out/workdir')
  let act: (turnId: string) => Promise<void> = async () => {}
  const hostile = defineTool({
    id: 'test.hostile',
    description: 'Runs a hostile program.',
    params: z.object({}),
    async run(_, call) {
      await call.workspace()
      await act(call.origin.turnId)
      return 'ran'
    },
  })
  const declare = defineTool({
    id: 'test.declare',
    description: 'Declares files.',
    params: z.object({ paths: z.array(z.string()) }),
    run: ({ paths }) => ({ artifact_type: 'files', files: paths.map((path) => ({ path, filename: 'made.txt' })) }),
  })
  const replies: Reply[] = []
  const harness = createHarness({
    replies,
    clock,
    store: createMemoryStore({ blobs, clock }),
    workspaces,
    hosting,
    tools: [hostile, declare],
    settings: { maxRounds: 10_000, contextTokens: 100_000_000 },
  })
  return {
    harness,
    outDir,
    hosted,
    put,
    folder,
    /** Runs one turn with the hostile program first and then these calls. Returns the results of each call. */
    async turn(plant: (turnId: string) => Promise<void>, next: readonly ((turnId: string) => string)[]) {
      let id = ''
      replies.push(reply.call('test.hostile'))
      for (const each of next) replies.push(() => each(id))
      replies.push(reply.answer('Done.'))
      act = async (known) => {
        id = known
        await plant(known)
      }
      const said = await harness.say('Go on.')
      const blocks = (await harness.journal()).flatMap(blocksOfChange).filter(({ turn_id }) => turn_id === said.turnId)
      const callIds = blocks.flatMap(({ type, call_id }) => (type === 'react.tool.call' ? [call_id] : [])).slice(1)
      const results = callIds.map((callId) =>
        blocks.filter(({ type, call_id }) => type === 'react.tool.result' && call_id === callId).map(({ text = '' }) => text),
      )
      return { ...said, results, blocks }
    },
  }
}

type AgentOnDisk = ReturnType<typeof createAgentOnDisk>

/** Checks that no file outside the workspace was changed or read, and that no output contains a path of the disk. */
export async function expectNoHarm(
  { harness, put, hosted, folder }: AgentOnDisk,
  place: HostilePlace,
  before: Readonly<Record<string, string>>,
) {
  expect(place.outside()).toEqual(before)
  const output = JSON.stringify([await harness.journal(), harness.model.requests])
  for (const word of [place.secret, place.outsideFolder, folder]) expect(output).not.toContain(word)
  const stored = [...put, ...hosted.map(({ content }) => content)].filter((bytes) => bytes instanceof Uint8Array)
  expect(stored.filter((bytes) => Buffer.from(bytes).includes(place.secret))).toEqual([])
}

export async function plant(outDir: string, inside: string): Promise<HostilePlace> {
  const place = await plantHostileFiles(outDir, inside)
  outsides.push(place.outsideFolder)
  return place
}
