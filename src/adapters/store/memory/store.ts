import { type Block, callOf } from '../../../core/block/index.ts'
import { Failure } from '../../../core/failure.ts'
import type { Change } from '../../../core/timeline/change.ts'
import { turnLogOf } from '../../../core/timeline/turn-log.ts'
import type { BlobStore } from '../../../ports/blobs.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Claim, ConversationInfo, ConversationStore } from '../../../ports/store.ts'
import { asBundleFailure, exportBundle, unpackBundle } from '../shared/bundles.ts'
import {
  checkConversationName,
  compareInListOrder,
  conversationExists,
  conversationMissing,
  cursorOf,
  foldTitle,
  isUnfinished,
  pageOf,
  pageSize,
  parseCursor,
} from '../shared/conversation-list.ts'
import { checkClaim, checkLeaseFree, isAlive, leaseExpiry } from '../shared/lease.ts'
import { createMutex } from '../shared/mutex.ts'
import { hasInlineBytes, involvesBlobs, referencedBlobs, type StoredChanges, storeBytes, validateChanges } from '../shared/validate.ts'
import {
  appendChanges,
  firstVersionsOf,
  type MemoryConversation,
  newConversation,
  positionAfter,
  removeHistory,
  visibleTimeline,
} from './conversation.ts'

/** For tests, for agents that need no tomorrow, and as the plainest reading of what a store promises. */
export function createMemoryStore({ blobs, clock }: { readonly blobs: BlobStore; readonly clock: Clock }): ConversationStore {
  const conversations = new Map<string, MemoryConversation>()
  const references = new Map<string, number>()
  const exclusively = createMutex()
  let claims = 0
  let closed = false

  const checkOpen = () => {
    if (closed) throw new Failure('store.closed', 'the store was closed: open it again')
  }
  const write = <T>(work: () => T | Promise<T>) =>
    exclusively(() => {
      checkOpen()
      return work()
    })
  const find = (conversationId: string) => {
    checkOpen()
    return conversations.get(conversationId)
  }
  const count = (changes: readonly Change[], by: 1 | -1) => {
    if (referencedBlobs(changes).size === 0) return
    for (const change of changes) for (const sha256 of referencedBlobs([change])) references.set(sha256, (references.get(sha256) ?? 0) + by)
  }

  function held(claim: Claim): MemoryConversation {
    const conversation = conversations.get(claim.conversationId)
    checkClaim(claim, conversation?.lease)
    return conversation as MemoryConversation // a claim on nothing was just refused
  }

  async function receive(changes: readonly Change[]): Promise<StoredChanges> {
    const incoming = hasInlineBytes(changes) ? await storeBytes(changes, blobs) : { changes, bytes: new Map() }
    for (const sha256 of referencedBlobs(incoming.changes)) {
      if (!(await blobs.has(sha256))) throw new Failure('blob.missing', `a block refers to blob ${sha256}, which was never put`)
    }
    return incoming
  }

  /** Blobs of entries that are gone, unless others refer to them. */
  async function letGo(changes: readonly Change[]): Promise<number> {
    count(changes, -1)
    const orphans = [...referencedBlobs(changes)].filter((sha256) => references.get(sha256) === 0)
    for (const sha256 of orphans) {
      references.delete(sha256)
      await blobs.remove(sha256)
    }
    return orphans.length
  }

  async function remove(conversationId: string): Promise<number> {
    const gone = conversations.get(conversationId)?.entries ?? []
    conversations.delete(conversationId)
    return letGo(gone.map(({ change }) => change))
  }

  const blocksWhere = async (conversationId: string, fits: (block: Block) => boolean): Promise<readonly Block[]> =>
    [...firstVersionsOf(find(conversationId)).values()].filter(fits)

  return {
    blobs,

    claim: (conversationId, owner, options) =>
      write(() => {
        checkConversationName(conversationId)
        const known = conversations.get(conversationId)
        const now = clock.now()
        if (known && options?.takeOver !== 'always') checkLeaseFree(conversationId, known.lease, owner, now)
        const conversation = known ?? newConversation()
        const expiresAt = leaseExpiry(now)
        conversation.lease = { epoch: ++claims, owner, expiresAt }
        conversations.set(conversationId, conversation)
        return { conversationId, ownerId: owner.id, epoch: claims, expiresAt }
      }),

    renew: (claim) =>
      write(() => {
        const conversation = held(claim)
        conversation.lease = { ...conversation.lease, expiresAt: leaseExpiry(clock.now()) }
      }),

    release: (claim) =>
      write(() => {
        const lease = conversations.get(claim.conversationId)?.lease
        if (lease?.epoch === claim.epoch && lease.owner?.id === claim.ownerId) {
          ;(conversations.get(claim.conversationId) as MemoryConversation).lease = { epoch: lease.epoch, owner: null, expiresAt: null }
        }
      }),

    append: (claim, changes) =>
      write(() => {
        const conversation = held(claim)
        const checked = validateChanges(changes)
        if (!involvesBlobs(checked)) return appendChanges(conversation, checked) // mostly words
        return receive(checked).then((incoming) => {
          const entries = appendChanges(held(claim), incoming.changes)
          count(incoming.changes, 1)
          return entries
        })
      }),

    async loadVisible(conversationId) {
      const conversation = find(conversationId)
      return conversation && { timeline: visibleTimeline(conversation), lastSeq: conversation.info.lastSeq }
    },

    findByPath: (conversationId, path) => blocksWhere(conversationId, (block) => block.path === path),
    findByTurn: (conversationId, turnId) => blocksWhere(conversationId, (block) => block.turn_id === turnId),
    findByCall: (conversationId, callId) => blocksWhere(conversationId, (block) => callOf(block) === callId),

    async readTurnLog(conversationId, turnId) {
      return turnLogOf(turnId, find(conversationId)?.entries.map(({ change }) => change) ?? [])
    },

    async *readJournal(conversationId, { after, limit = Number.POSITIVE_INFINITY }) {
      let last = after
      for (let given = 0; given < limit; given++) {
        const conversation = find(conversationId)
        const next = conversation?.entries[positionAfter(conversation.entries, last)]
        if (!next) return
        last = next.seq
        yield { seq: next.seq, change: JSON.parse(JSON.stringify(next.change)) } // as if it had been on a disk: the reader's own
      }
    },

    async list(query) {
      checkOpen()
      const cursor = parseCursor(query.cursor)
      const size = pageSize(query)
      const wanted = foldTitle(query.search ?? '')
      const heads = [...conversations]
        .map(([conversationId, { info: head }]): ConversationInfo => ({ conversationId, ...head }))
        .filter(({ conversationId }) => conversationId.startsWith(query.prefix ?? '') && !(query.plain && conversationId.includes('/')))
        .filter((head) => foldTitle(head.title ?? '').includes(wanted) && (query.open !== true || isUnfinished(head)))
        .sort((a, b) => compareInListOrder(cursorOf(a), cursorOf(b)))
        .filter((head) => cursor === undefined || compareInListOrder(cursor, cursorOf(head)) < 0)
      return pageOf(heads.slice(0, size + 1), size)
    },

    exportBundle: (conversationId) =>
      write(() => {
        const conversation = conversations.get(conversationId)
        if (!conversation) throw conversationMissing(conversationId)
        const changes = conversation.entries.map(({ change }) => change)
        return exportBundle(conversationId, changes, visibleTimeline(conversation), blobs)
      }),

    importBundle: (bundle, options) =>
      write(async () => {
        const { conversationId: named, changes, bytes } = unpackBundle(bundle)
        const conversationId = options?.as ?? named
        checkConversationName(conversationId)
        if (conversations.has(conversationId)) throw conversationExists(conversationId)
        for (const content of bytes.values()) await blobs.put(content)
        const incoming = await receive(changes)
        const conversation = { ...newConversation(), lease: { epoch: ++claims, owner: null, expiresAt: null } }
        asBundleFailure(() => appendChanges(conversation, incoming.changes))
        count(incoming.changes, 1)
        conversations.set(conversationId, conversation)
        return { conversationId }
      }),

    delete: (conversationId) =>
      write(async () => {
        const known = conversations.has(conversationId)
        await remove(conversationId)
        return known
      }),

    releaseBlobs: (given) =>
      write(async () => {
        for (const { sha256 } of given) if (!references.has(sha256)) await blobs.remove(sha256)
      }),

    retain: ({ conversationsIdleSince, historyBefore }) =>
      write(async () => {
        const report = { conversations: 0, entries: 0, blobs: 0 }
        const now = clock.now()
        for (const [conversationId, conversation] of conversations) {
          const { info: head, lease } = conversation
          const idle = conversationsIdleSince !== undefined && (head.lastActivityAt ?? '') < conversationsIdleSince
          if (idle && !isUnfinished(head) && !isAlive(lease, now)) {
            report.conversations += 1
            report.blobs += await remove(conversationId)
          } else if (historyBefore !== undefined) {
            const gone = removeHistory(conversation, historyBefore)
            report.entries += gone.length
            report.blobs += await letGo(gone)
          }
        }
        return report
      }),

    close: () =>
      exclusively(() => {
        closed = true
      }),
  }
}
