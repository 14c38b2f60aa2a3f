import type { WaitView } from 'daybook/client'
import { client } from './session.ts'

let state: readonly WaitView[] = []
const listeners = new Set<() => void>()

/** What the turns of all conversations wait for. */
export const waits = {
  subscribe(listener: () => void): () => void {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  },
  get: () => state,
}

/**
 * Loads the list. If the server can not be reached, the list stays as it is. The open conversation tells the person that the connection is
 * lost.
 */
export async function loadWaits(): Promise<void> {
  try {
    const { waits: loaded } = await client.waiting()
    if (JSON.stringify(loaded) === JSON.stringify(state)) return
    state = loaded
    for (const listener of listeners) listener()
  } catch (error) {
    if (!(error instanceof Error)) throw error
  }
}
