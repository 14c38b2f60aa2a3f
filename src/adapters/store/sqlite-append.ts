import type { Block } from '../../core/block/index.ts'
import { applyChange } from '../../core/timeline/apply.ts'
import type { Change } from '../../core/timeline/change.ts'
import { type Frame, frameOf } from '../../core/timeline/frame.ts'
import { emptyTimeline, type Timeline } from '../../core/timeline/timeline.ts'
import type { BlobStore } from '../../ports/blobs.ts'
import type { Claim, Entry } from '../../ports/store.ts'
import { birthsOf, importedIds, startsFrame } from './births.ts'
import { asBundle, openBundle } from './bundles.ts'
import { emptyHead, type Head, headAfter } from './head.ts'
import { checkChanges } from './incoming.ts'
import { checkName, exists } from './name.ts'
import { type Conversations, headOf, held } from './sqlite-conversations.ts'
import type { Database } from './sqlite-database.ts'
import type { Journal } from './sqlite-journal.ts'
import type { Loader } from './sqlite-load.ts'
import { ensureBlobs, type Prepared, prepare } from './sqlite-prepare.ts'

/** What an append with a compaction or an import needs to know of what is there. */
interface Ground {
  readonly lastSeq: number
  readonly frame: Placed
  readonly entered: ReadonlyMap<string, Block>
}

/** A frame and the change, counted from the first of the append, that it stands beside. */
interface Placed {
  readonly index: number
  readonly value: Frame
}

interface Parts {
  readonly database: Database
  readonly conversations: Conversations
  readonly journal: Journal
  readonly loader: Loader
  readonly blobs: BlobStore
}

export function createAppender({ database, conversations, journal, loader, blobs }: Parts) {
  /** Everything slow comes first; the transaction checks that it still holds. */
  async function append(claim: Claim, given: readonly Change[]): Promise<readonly Entry[]> {
    const changes = checkChanges(given)
    held(claim, conversations.peek(claim.conversationId)) // so that a stale writer leaves no blobs
    const prepared = await prepare(changes, blobs)
    for (;;) {
      const ground = changes.some(startsFrame) ? await survey(claim.conversationId, prepared.changes) : undefined
      const births = birthsOf(prepared.changes, (id) => ground?.entered.get(id))
      const entries = await database.write(async () => {
        const row = held(claim, conversations.find(claim.conversationId))
        if (ground && row.last_seq !== ground.lastSeq) return undefined // another append of the same owner came first
        if (prepared.needed.size > 0) await ensureBlobs(prepared, blobs)
        return log(row.key, headOf(row), prepared, births, ground?.frame)
      })
      if (entries) return entries
    }
  }

  function log(key: number, head: Head, prepared: Prepared, births: readonly (readonly Block[])[], frame?: Placed): readonly Entry[] {
    const { changes } = prepared
    const entries = changes.map((change, index) => ({ seq: head.lastSeq + 1 + index, change }))
    const rows = entries.map(({ seq, change }, index) => {
      const { body, blobs: refs } = prepared.rows[index] as Prepared['rows'][number] // one row per change
      return { seq, change, body, births: births[index] ?? [], blobs: refs }
    })
    journal.write(key, rows, head.lastActivityAt ?? '')
    if (frame) journal.putFrame(key, head.lastSeq + 1 + frame.index, frame.value)
    conversations.setHead(key, headAfter(head, changes))
    return entries
  }

  async function survey(conversationId: string, changes: readonly Change[]): Promise<Ground> {
    const entered = await loader.enteredBlocks(conversationId, importedIds(changes))
    const saved = await loader.loadVisible(conversationId)
    return { lastSeq: saved?.lastSeq ?? 0, frame: frameAfter(saved?.timeline ?? emptyTimeline(), changes), entered }
  }

  /** Into a new conversation; until the transaction there is nothing to see of it. */
  async function importBundle(bundle: unknown, as: string | undefined): Promise<{ readonly conversationId: string }> {
    const { conversationId: named, changes, bytes } = openBundle(bundle)
    const conversationId = as ?? named
    checkName(conversationId)
    if (conversations.peek(conversationId)) throw exists(conversationId)
    for (const content of bytes.values()) await blobs.put(content)
    const inline = await prepare(changes, blobs)
    const prepared = { ...inline, needed: new Map([...inline.needed, ...bytes]) }
    const births = asBundle(() => birthsOf(prepared.changes, () => undefined))
    await database.write(async () => {
      if (conversations.find(conversationId)) throw exists(conversationId)
      await ensureBlobs(prepared, blobs)
      log(conversations.create(conversationId), emptyHead, prepared, births, frameAfter(emptyTimeline(), prepared.changes))
    })
    return { conversationId }
  }

  return { append, importBundle }
}

/** The frame beside the last compaction among the changes. */
function frameAfter(timeline: Timeline, changes: readonly Change[]): Placed {
  const index = changes.findLastIndex(startsFrame)
  return { index, value: frameOf(changes.slice(0, index + 1).reduce(applyChange, timeline)) }
}
