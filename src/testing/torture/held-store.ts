import type { Claim, ConversationStore } from '../../ports/store.ts'
import { withFunctions } from './records.ts'
import type { HoldPoint } from './tasks.ts'

/** A store in which conversations stop at a commit. */
export interface HeldStore {
  readonly store: ConversationStore
  /** Lets all held conversations continue. Later commits are not held. */
  goOn(): void
  /** The claims that this process got. */
  claims(): readonly Claim[]
}

/**
 * Holds the nth append of each conversation in `holds`. With `before-n`, the append is held before it reaches the store. With `after-n`,
 * the append is stored, but its result does not reach the caller. `onAllHeld` is called when all conversations in `holds` are held.
 */
export function heldStore(store: ConversationStore, holds: Readonly<Record<string, HoldPoint>>, onAllHeld: () => void): HeldStore {
  const appends = new Map<string, number>()
  const claims: Claim[] = []
  const { promise: released, resolve: goOn } = Promise.withResolvers<void>()
  let count = 0
  const hold = () => {
    if (++count === Object.keys(holds).length) onAllHeld()
    return released
  }
  return {
    store: withFunctions(store, {
      async claim(conversationId, owner, options) {
        const claim = await store.claim(conversationId, owner, options)
        claims.push(claim)
        return claim
      },
      async append(claim, changes, options) {
        const { conversationId } = claim
        const number = (appends.get(conversationId) ?? 0) + 1
        appends.set(conversationId, number)
        if (holds[conversationId] === `before-${number}`) await hold()
        const entries = await store.append(claim, changes, options)
        if (holds[conversationId] === `after-${number}`) await hold()
        return entries
      },
    }),
    goOn,
    claims: () => claims,
  }
}
