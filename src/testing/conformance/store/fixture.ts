import { type Block, type Draft, rangeSummaryBlock } from '../../../core/block/index.ts'
import type { Change, Wait } from '../../../core/timeline/change.ts'
import type { InboxEvent } from '../../../core/timeline/inbox-event.ts'
import { blocksOf, type Timeline } from '../../../core/timeline/timeline.ts'
import type { BlobStore } from '../../../ports/blobs.ts'
import type { Claim, ConversationStore, Entry, Owner } from '../../../ports/store.ts'
import { minute, withIds } from '../../blocks.ts'
import type { FixedClock } from '../../fixed-clock.ts'

/** An empty store, with its clock and its blob store. */
export interface StoreFixture {
  readonly store: ConversationStore
  readonly clock: FixedClock
  readonly blobs: BlobStore
}
/** Opens an empty store for one test. */
export type CreateStore = () => Promise<StoreFixture>

/** An owner on another host, so the store can not check whether its process is alive. */
export const owner = (id: string): Owner => ({ id, host: `host-of-${id}`, pid: 4711 })

export const appended = (drafts: readonly Draft[], first = 1): Change => ({ type: 'blocks.appended', blocks: withIds(drafts, first) })
export const opened = (turnId: string, at = 0): Change => ({ type: 'turn.opened', turn_id: turnId, ts: minute(at) })
export const closed = (turnId: string, at = 0): Change => ({
  type: 'turn.closed',
  turn_id: turnId,
  ts: minute(at),
  exit_reason: 'complete',
})

export const waitingTurn = (turnId: string, at: number, waits: readonly Wait[], active?: true): Change => ({
  type: 'turn.waiting',
  turn_id: turnId,
  ts: minute(at),
  waits,
  ...(active && { active }),
})
export const resumedTurn = (turnId: string, at: number, waitIds: readonly string[]): Change => ({
  type: 'turn.resumed',
  turn_id: turnId,
  ts: minute(at),
  wait_ids: waitIds,
})

export const accepted = (id: string, at = 0, kind: InboxEvent['kind'] = 'followup'): Change => ({
  type: 'event.accepted',
  event: { event_id: id, sequence: at, kind, ts: minute(at), text: `said as ${id}` },
})
export const folded = (ids: readonly string[], at = 0, turnId: string | null = null): Change => ({
  type: 'event.folded',
  ts: minute(at),
  event_ids: ids,
  turn_id: turnId,
})

/** A change that compacts all blocks up to and including `afterId`. The summary has the id `b_<number>`. */
export const compacted = (afterId: string, number: number, turnId = 't1', at = 0): Change => ({
  type: 'range.compacted',
  after_id: afterId,
  blocks: withIds([rangeSummaryBlock(turnId, minute(at), { text: `summary ${number}`, coveredTurnIds: [turnId] })], number),
  covered: [turnId],
})

export async function journalOf(store: ConversationStore, conversationId: string, after = 0, limit?: number): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for await (const entry of store.readJournal(conversationId, limit === undefined ? { after } : { after, limit })) entries.push(entry)
  return entries
}

/** Claims the conversation and appends each list of changes. */
export async function writeConversation(
  store: ConversationStore,
  conversationId: string,
  ...appends: readonly (readonly Change[])[]
): Promise<Claim> {
  const claim = await store.claim(conversationId, owner('writer'))
  for (const changes of appends) await store.append(claim, changes)
  return claim
}

/** A timeline in a form that tests can compare. The list `blocks` replaces the internal buffer. */
export const comparable = ({ buffer: _buffer, ...facts }: Timeline, blocks: readonly Block[]): object => ({ ...facts, blocks })

export async function visibleTimeline(store: ConversationStore, conversationId: string): Promise<object | undefined> {
  const saved = await store.loadVisible(conversationId)
  return saved && { lastSeq: saved.lastSeq, ...comparable(saved.timeline, blocksOf(saved.timeline)) }
}

export async function visibleIds(store: ConversationStore, conversationId: string): Promise<readonly string[] | undefined> {
  const saved = await store.loadVisible(conversationId)
  return saved && idsOf(blocksOf(saved.timeline))
}

export const idsOf = (blocks: readonly Block[]): readonly string[] => blocks.map(({ id }) => id)
export const textsOf = (blocks: readonly Block[]): readonly (string | undefined)[] => blocks.map(({ text }) => text)
