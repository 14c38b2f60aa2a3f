import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createFileBlobs } from '../../../src/adapters/blobs/file.ts'
import { createSqliteStore } from '../../../src/adapters/store/sqlite/store.ts'
import { Failure } from '../../../src/core/failure.ts'
import { applyChange } from '../../../src/core/timeline/apply.ts'
import { mapBlocks } from '../../../src/core/timeline/bundle.ts'
import { blocksOfChange, type Change } from '../../../src/core/timeline/change.ts'
import { emptyTimeline } from '../../../src/core/timeline/timeline.ts'
import type { AppendOptions, Claim, ConversationStore, Entry } from '../../../src/ports/store.ts'
import type { StoreModulePlace } from '../../../src/testing/torture/place.ts'
import { withFunctions } from '../../../src/testing/torture/records.ts'
import type { ViolationKind } from '../../../src/testing/torture/scenario.ts'

/** A fault that a store may have: the row of the torture that must find it, and the kind of the finding. */
export interface PlantedFault {
  readonly row: string
  readonly kind: ViolationKind
  plant(store: ConversationStore, folder: string): Partial<ConversationStore>
}

type Append = ConversationStore['append']
const isCode = (error: unknown, code: string) => error instanceof Failure && error.code === code

/** Keeps the latest append of each conversation in memory if `waits` says so, and stores it with the next one. */
function delayed(store: ConversationStore, waits: (changes: readonly Change[]) => boolean): Append {
  const kept = new Map<string, { readonly changes: readonly Change[]; readonly options: AppendOptions | undefined }>()
  const lastSeqs = new Map<string, number>()
  return async (claim, changes, options) => {
    const id = claim.conversationId
    const before = kept.get(id)
    kept.delete(id)
    if (before) await store.append(claim, before.changes, before.options)
    const start = lastSeqs.get(id) ?? claim.found.lastSeq
    lastSeqs.set(id, start + changes.length)
    if (!waits(changes)) return store.append(claim, changes, options)
    kept.set(id, { changes, options })
    return changes.map((change, index): Entry => ({ seq: start + 1 + index, change }))
  }
}

const hasCall = (changes: readonly Change[]) =>
  changes.some((change) => blocksOfChange(change).some(({ type }) => type === 'react.tool.call'))

async function* filtered(entries: AsyncIterable<Entry>, keeps: (entry: Entry) => boolean): AsyncGenerator<Entry> {
  for await (const entry of entries) if (keeps(entry)) yield entry
}

/** Every fault by what the store does wrong. */
export const plantedFaults: Readonly<Record<string, PlantedFault>> = {
  'acknowledges an append before it is on disk': {
    row: 'kill-commit',
    kind: 'lost',
    plant: (store) => ({ append: delayed(store, () => true) }),
  },
  'acknowledges an offer before it is on disk': {
    row: 'race-offers',
    kind: 'lost',
    plant: (store) => ({
      async offer(id, event, options) {
        setTimeout(() => void store.offer(id, event, options).catch(() => {}), 400)
        return 'offered'
      },
    }),
  },
  'stores an append in two parts': {
    row: 'kill-append',
    kind: 'torn',
    plant: (store) => ({
      async append(claim, changes, options) {
        const half = Math.ceil(changes.length / 2)
        const first = await store.append(claim, changes.slice(0, half))
        await sleep(20)
        return [...first, ...(half < changes.length ? await store.append(claim, changes.slice(half), options) : [])]
      },
    }),
  },
  'loses the responses of the model': {
    row: 'kill-commit',
    kind: 'lost',
    plant: (store) => ({
      async append(claim, changes, options) {
        const entries = await store.append(
          claim,
          changes.filter(({ type }) => type !== 'response.received'),
          options,
        )
        const [first] = entries
        return changes.map((change, index) => ({ seq: (first?.seq ?? 1) + index, change }))
      },
    }),
  },
  'hides stored responses from a process that has just claimed': {
    row: 'kill-commit',
    kind: 'paid twice',
    plant(store) {
      const claimed = new Set<string>()
      return {
        async claim(id, owner, options) {
          claimed.add(id)
          return store.claim(id, owner, options)
        },
        readJournal: (id, range) =>
          filtered(store.readJournal(id, range), ({ change }) => !claimed.has(id) || change.type !== 'response.received'),
      }
    },
  },
  'stores calls of tools only with their results': {
    row: 'kill-commit',
    kind: 'repeated',
    plant: (store) => ({ append: delayed(store, hasCall) }),
  },
  'accepts an append and a renewal with an old epoch': {
    row: 'freeze',
    kind: 'stale',
    plant: (store) => ({ append: acceptingStale(store), renew: () => Promise.resolve() }),
  },
  'gives a claim to two processes': {
    row: 'race-claims',
    kind: 'stale',
    plant: (store) => ({
      async claim(id, owner, options) {
        try {
          return await store.claim(id, owner, options)
        } catch (error) {
          if (!isCode(error, 'conversation.busy')) throw error
          return store.claim(id, owner, { ...options, takeOver: 'always' })
        }
      },
    }),
  },
  'never ends the lease of a dead process': {
    row: 'leases',
    kind: 'stuck',
    plant: (store, folder) => immortalLeases(store, join(folder, 'owners')),
  },
  'accepts an event twice': {
    row: 'race-offers',
    kind: 'doubled',
    plant: (store) => ({
      async append(claim, changes, options) {
        const entries = await store.append(claim, changes, options)
        const events = changes.filter(({ type }) => type === 'event.accepted')
        return events.length === 0 ? entries : [...entries, ...(await store.append(claim, events))]
      },
    }),
  },
  'tells two processes that each was the first to offer an event': {
    row: 'race-offers',
    kind: 'doubled',
    plant: (store) => ({
      async offer(id, event, options) {
        await store.offer(id, event, options)
        return 'offered'
      },
    }),
  },
  'gives the offers of a process in another order': {
    row: 'race-offers',
    kind: 'disordered',
    plant: (store) => ({ readOffers: async (id) => (await store.readOffers(id)).toReversed() }),
  },
  'skips an entry for a reader that goes on after a gap': {
    row: 'followers',
    kind: 'lost',
    plant: (store) => ({
      readJournal: (id, range) =>
        filtered(store.readJournal(id, range), ({ seq }) => range.after === 0 || seq !== range.after + 1 || seq % 3 !== 0),
    }),
  },
  'gives an entry twice to a reader that goes on': {
    row: 'followers',
    kind: 'doubled',
    plant: (store) => ({
      readJournal: (id, range) => store.readJournal(id, { ...range, after: Math.max(0, range.after - 1) }),
    }),
  },
}

/** For each obligation, a fault that breaks it. */
export const obligationFaults: Readonly<Record<string, PlantedFault>> = {
  'removes an entry when the turn ends': {
    row: 'prefix-continuation',
    kind: 'lost',
    plant: (store) => ({
      async *readJournal(id, range) {
        const entries: Entry[] = []
        for await (const entry of store.readJournal(id, range)) entries.push(entry)
        const isClosed = entries.some(({ change }) => change.type === 'turn.closed')
        yield* entries.filter(({ seq }) => !isClosed || seq !== 2)
      },
    }),
  },
  'stores calls of tools only with their results (effects)': {
    row: 'effect-exactly-once',
    kind: 'repeated',
    plant: (store) => ({ append: delayed(store, hasCall) }),
  },
  'changes a text in every second copy': {
    row: 'fork-determinism',
    kind: 'different',
    plant(store) {
      let copies = 0
      return {
        importBundle(bundle, options) {
          const changed = mapBlocks(bundle, (block) => (block.type === 'user.prompt' ? { ...block, text: 'Go home.' } : block))
          return store.importBundle(++copies % 2 === 0 ? changed : bundle, options)
        },
      }
    },
  },
  'loads a timeline without its last entry': {
    row: 'checkpoint-validity',
    kind: 'different',
    plant: (store) => ({ loadVisible: (id) => olderState(store, id) }),
  },
  'gives an offer again that was taken': {
    row: 'consume-once',
    kind: 'doubled',
    plant: (store) => ({ append: (claim, changes) => store.append(claim, changes) }),
  },
  'hides the latest entries of every second conversation that is claimed': {
    row: 'recovery-determinism',
    kind: 'different',
    plant: (store) => ({
      readJournal: (id, range) =>
        filtered(store.readJournal(id, range), ({ change }) => !id.endsWith('-2') || change.type !== 'response.received'),
    }),
  },
}

async function olderState(store: ConversationStore, id: string): ReturnType<ConversationStore['loadVisible']> {
  const changes: Change[] = []
  for await (const { change } of store.readJournal(id, { after: 0 })) changes.push(change)
  const saved = await store.loadVisible(id)
  return (
    saved && { ...saved, timeline: { ...changes.slice(0, -1).reduce(applyChange, emptyTimeline()), nextBlock: saved.timeline.nextBlock } }
  )
}

/** Takes the conversation back from its new owner and appends, instead of rejecting the append. */
function acceptingStale(store: ConversationStore): Append {
  return async (claim, changes, options) => {
    try {
      return await store.append(claim, changes, options)
    } catch (error) {
      if (!isCode(error, 'conversation.superseded')) throw error
      const owner = { id: claim.ownerId, host: 'here', pid: process.pid }
      const again: Claim = await store.claim(claim.conversationId, owner, { takeOver: 'always' })
      return store.append(again, changes, options)
    }
  }
}

/** Leases that only their owner can end. A file for each conversation has its owner. */
function immortalLeases(store: ConversationStore, folder: string): Partial<ConversationStore> {
  mkdirSync(folder, { recursive: true })
  const fileOf = (id: string) => join(folder, encodeURIComponent(id))
  return {
    async claim(id, owner, options) {
      const held = existsSync(fileOf(id)) ? readFileSync(fileOf(id), 'utf8') : owner.id
      if (held !== owner.id && options?.takeOver !== 'always')
        throw new Failure('conversation.busy', 'in use', {
          details: { owner: { host: 'h', pid: 1 }, expiresAt: new Date(0).toISOString() },
        })
      const claim = await store.claim(id, owner, options)
      writeFileSync(fileOf(id), owner.id)
      return claim
    },
    async release(claim, result) {
      rmSync(fileOf(claim.conversationId), { force: true })
      await store.release(claim, result)
    },
  }
}

/** Opens a real SQLite store with a fault. */
export async function openFaultyStore(name: string, { folder, clock }: StoreModulePlace): Promise<ConversationStore> {
  const fault = plantedFaults[name] ?? obligationFaults[name]
  if (!fault) throw new RangeError(`there is no fault ${name}`)
  const blobs = createFileBlobs({ folder: join(folder, 'blobs') })
  const store = await createSqliteStore({ file: join(folder, 'daybook.db'), blobs, clock })
  return withFunctions(store, fault.plant(store, folder))
}
