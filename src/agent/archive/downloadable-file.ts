import type { Block } from '../../core/block/index.ts'
import { toLogical } from '../../core/path/physical.ts'
import { conversationKey, type Scope } from '../../core/scope.ts'
import { blocksOf } from '../../core/timeline/timeline.ts'
import type { ByteRange } from '../../ports/blobs.ts'
import type { HostedFile, Hosting } from '../../ports/hosting.ts'
import type { ConversationStore } from '../../ports/store.ts'

/** A hosted file. */
export interface DownloadableFile extends HostedFile {
  read(): Promise<Uint8Array>
  /** Yields the bytes in pieces. */
  stream(range?: ByteRange): AsyncIterable<Uint8Array>
  /**
   * The blocks of the conversation that have the resource name of this file, oldest first. From these blocks, the caller decides whether
   * users may see the file.
   */
  blocks(): Promise<readonly Block[]>
}

export async function findFile(
  hosting: Hosting,
  store: ConversationStore,
  handle: string,
  viewer: Scope,
): Promise<DownloadableFile | undefined> {
  const file = await hosting.resolve(handle, viewer)
  if (!file) return undefined
  return {
    ...file,
    read: () => hosting.read(file),
    stream: (range) => hosting.stream(file, range),
    blocks: () => blocksOfFile(store, file),
  }
}

/**
 * The blocks that have the resource name of a hosted file. They are looked for in three places: at the path of the file, then in the turn
 * of the file, then in the current timeline. Most files have a block at their own path. The block of a file that a tool has hosted may have
 * another path, and may be in a later turn.
 */
async function blocksOfFile(
  store: Pick<ConversationStore, 'findByPath' | 'findByTurn' | 'loadVisible'>,
  { rn, owner, conversationId, turnId, physicalPath }: HostedFile,
): Promise<readonly Block[]> {
  const key = conversationKey(owner, conversationId)
  const named = async (blocks: Promise<readonly Block[]>) => (await blocks).filter(({ meta }) => meta?.rn === rn)
  const path = toLogical(physicalPath)
  const atPath = path === undefined ? [] : await named(store.findByPath(key, path))
  if (atPath.length > 0) return atPath
  const ofTurn = await named(store.findByTurn(key, turnId))
  return ofTurn.length > 0 ? ofTurn : named(store.loadVisible(key).then((saved) => (saved ? blocksOf(saved.timeline) : [])))
}
