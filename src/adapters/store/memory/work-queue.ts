import { createHeap, type Heap } from '../../../core/heap.ts'
import { tenantOfKey } from '../../../core/scope.ts'

/** A conversation, and from when on it can be claimed. */
export interface FreeConversation {
  readonly id: string
  readonly at: string
}

interface Listed extends FreeConversation {
  /** The order in which conversations were added. */
  readonly number: number
}

/**
 * The conversations with work, by tenant. Of each tenant, the conversation that is free first is found without a look at the others.
 * `freeAt` returns from when on a conversation can be claimed, or undefined when it has no work.
 *
 * A conversation that becomes free earlier, or gets work, must be noted. One that becomes free later need not: its place is corrected when it
 * is the first one.
 */
export function createWorkQueue(freeAt: (conversationId: string) => string | undefined) {
  const heaps = new Map<string, Heap<Listed>>()
  /** The time with which each conversation is in a heap. Other entries of it are out of date. */
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

  /** The conversation of the tenant that is free first. */
  function first(tenant: string): FreeConversation | undefined {
    const heap = heaps.get(tenant)
    for (let top = heap?.first; heap && top; top = heap.first) {
      const at = freeAt(top.id)
      const isListed = listedAt.get(top.id) === top.at
      if (isListed && at === top.at) return top
      heap.removeFirst()
      if (!isListed) continue // it is in the heap a second time, with an earlier time
      listedAt.delete(top.id)
      note(top.id)
    }
    heaps.delete(tenant)
    return undefined
  }

  return { note, first, tenants: (): readonly string[] => [...heaps.keys()] }
}

const isBefore = (a: Listed, b: Listed): boolean => a.at < b.at || (a.at === b.at && a.number < b.number)
