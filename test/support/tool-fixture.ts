import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createMemoryFiles } from '../../src/adapters/files/memory.ts'
import { createTemporaryFolder } from '../../src/adapters/files/temporary.ts'
import { createMemoryWorkspaces } from '../../src/adapters/workspace/custom/custom.ts'
import { recordsOf } from '../../src/agent/conversation/history.ts'
import type { BlockOrigin, Draft } from '../../src/core/block/index.ts'
import { roughTokens } from '../../src/core/estimate/tokens.ts'
import { toPhysical } from '../../src/core/path/physical.ts'
import { cachePoints, defaultCachePolicy } from '../../src/core/render/cache-points.ts'
import { localScope } from '../../src/core/scope.ts'
import { mergeSources } from '../../src/core/sources/pool.ts'
import type { IncomingSource } from '../../src/core/sources/source.ts'
import { blocksAtPath, emptyTimeline } from '../../src/core/timeline/timeline.ts'
import type { BlobStore } from '../../src/ports/blobs.ts'
import type { Workspace } from '../../src/ports/workspace.ts'
import { blockOrigin, withIds } from '../../src/testing/blocks.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { historyOf } from '../../src/tools/artifacts/history.ts'
import type { Call, Tool } from '../../src/tools/tool.ts'
import { sliceOf } from './prompts/shown-blocks.ts'
import { openTestStore } from './stores.ts'

/** A conversation with these blocks, and functions to call a tool in it. */
export async function toolFixture(
  drafts: readonly Draft[] | ((blobs: BlobStore) => Promise<readonly Draft[]>),
  options: {
    /** The paths of blocks that are hidden. */
    readonly hidden?: readonly string[]
    /** The ids of further blocks that are hidden. */
    readonly hide?: readonly string[]
    readonly sources?: readonly IncomingSource[]
    readonly turnId?: string
    readonly workspace?: Workspace
    readonly editableTailTokens?: number
  } = {},
) {
  const { hidden = [], sources = [], turnId = 't1', editableTailTokens = 4_000 } = options
  const clock = createFixedClock()
  const blobs = createMemoryBlobs()
  const store = await openTestStore({ blobs, clock })
  const claim = await store.claim('c1', { id: 'test', host: 'here', pid: 1 })
  const made = typeof drafts === 'function' ? await drafts(blobs) : drafts
  if (made.length > 0) await store.append(claim, [{ type: 'blocks.appended', blocks: withIds(made) }])
  const timelineNow = async () => (await store.loadVisible('c1'))?.timeline ?? emptyTimeline()
  for (const path of hidden) {
    const ids = blocksAtPath(await timelineNow(), path).map(({ id }) => id)
    await store.append(claim, [{ type: 'blocks.hidden', ids, replacement_text: 'folded', reason: 'hide' }])
  }
  const { hide = [] } = options
  if (hide.length > 0) await store.append(claim, [{ type: 'blocks.hidden', ids: hide, replacement_text: 'folded', reason: 'hide' }])
  if (sources.length > 0) {
    const { pool, changed } = mergeSources((await timelineNow()).sources, sources)
    await store.append(claim, [{ type: 'sources.merged', ts: clock.now(), rows: changed, next_sid: pool.next_sid }])
  }
  const timeline = await timelineNow()
  const folders = { createFiles: createMemoryFiles, openTemporary: createTemporaryFolder }
  const workspace = options.workspace ?? (await createMemoryWorkspaces({ blobs, ...folders }).open(localScope, 'c1'))
  const at: BlockOrigin = blockOrigin('k', turnId, 50)
  const slice = () => sliceOf(timeline, turnId)
  const call: Call = {
    conversationId: 'c1',
    origin: at,
    toolId: 'test.tool',
    idempotencyKey: `c1/${turnId}/k`,
    timeline,
    signal: new AbortController().signal,
    visiblePrompt: { slice, points: () => cachePoints(slice(), defaultCachePolicy), tokens: roughTokens, editableTailTokens },
    clock,
    code: undefined,
    scope: localScope,
    records: recordsOf(store, 'c1'),
    workspace: async () => workspace,
    blobs,
  }
  if (!options.workspace) await placeRecordedFiles(workspace, call)
  return {
    store,
    claim,
    blobs,
    workspace,
    timeline,
    call,
    run: (tool: Tool, params: object) => tool.run(params as Record<string, unknown>, call),
  }
}

/** Writes the recorded files of the current turn to its folder. In a real turn, the tools that made the files have done this. */
async function placeRecordedFiles({ files }: Workspace, call: Call): Promise<void> {
  const history = historyOf(call)
  for (const logical of await history.paths(call.origin.turnId)) {
    const physical = logical.includes('.files/') ? toPhysical(logical) : undefined
    const bytes = physical === undefined ? undefined : await history.bytes(logical)
    if (physical !== undefined && bytes) await files.write(physical, bytes)
  }
}
