import { createHeap, type Heap } from '../../../core/collections/heap.ts'
import { tenantOfKey } from '../../../core/scope.ts'

/** A conversation, and the time from which it can be claimed. */
export interface FreeConversation {
  readonly id: string
  readonly at: string
}

interface Listed extends FreeConversation {
  /** Counts the heap entries in the order in which they were added. */
  readonly number: number
}

/**
 * The conversations with work, by tenant. For a tenant, it finds the conversation that can be claimed first, without examining the others.
 * `freeAt` returns the time from which a conversation can be claimed, or undefined when it has no work.
 *
 * Call `note` when a conversation gets work or becomes free earlier. A call is not needed when the conversation becomes free later than
 * before: its place is corrected when it reaches the front of the queue.
 */
export function createWorkQueue(freeAt: (conversationId: string) => string | undefined) {
  const heaps = new Map<string, Heap<Listed>>()
  /** The time of the valid heap entry of each conversation. Other heap entries of the conversation are outdated. */
  const listedAt = new Map<string, string>()
  let added = 0

  function note(id: string): void {
    const at = freeAt(id)
    const known = listedAt.get(id)
    if (at === undefined || (known !== undefined && known <= at)) return
    listedAt.set(id, at)
    const tenant = tenantOfKey(id)
    const heap = heaps.get(tenant) ?? createHeap(isBefore)
    heaps.set(tenant, heap)
    heap.push({ id, at, number: added++ })
  }

  /** The conversation of the tenant that can be claimed first. */
  function first(tenant: string): FreeConversation | undefined {
    const heap = heaps.get(tenant)
    for (let top = heap?.first; heap && top; top = heap.first) {
      const at = freeAt(top.id)
      const isListed = listedAt.get(top.id) === top.at
      if (isListed && at === top.at) return top
      heap.removeFirst()
      if (!isListed) continue // an outdated entry: the conversation is also in the heap with an earlier time
      listedAt.delete(top.id)
      note(top.id)
    }
    heaps.delete(tenant)
    return undefined
  }

  return { note, first, tenants: (): readonly string[] => [...heaps.keys()] }
}

const isBefore = (a: Listed, b: Listed): boolean => a.at < b.at || (a.at === b.at && a.number < b.number)
