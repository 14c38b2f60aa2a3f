import type { ModelEvent } from '../core/model-event.ts'
import { forAwait } from './model-call/fast-for-await.ts'
import type { Activity } from './phase.ts'

export interface StreamHandlers<Heard> {
  /** Tells the model to stop, as whoever asked may do and `take` does. */
  readonly activity: Pick<Activity, 'onStop'>
  /** How long it may take to stop. */
  readonly graceMs: number
  /** False: it wants no more. */
  onEvent(event: ModelEvent): boolean
  /** What came of it. An adapter should not throw; if it does, here is what. */
  onEnd(broke: { readonly thrown: unknown } | undefined): Heard
}

/**
 * Reads what a model says to the end, whatever its adapter does. One that was told to stop and does not is left behind, and nothing it
 * says later is heard.
 */
export function readModelStream<Heard>(speak: () => AsyncIterable<ModelEvent>, hearing: StreamHandlers<Heard>): Promise<Heard> {
  return new Promise((resolve, reject) => {
    let ended = false
    let leaving: NodeJS.Timeout | undefined
    const end = (broke?: { readonly thrown: unknown }) => {
      if (ended) return
      ended = true
      clearTimeout(leaving)
      try {
        resolve(hearing.onEnd(broke))
      } catch (error) {
        reject(error)
      }
    }
    hearing.activity.onStop(() => {
      if (!ended) leaving = setTimeout(end, hearing.graceMs)
    })
    forAwait(speak, (event) => !ended && hearing.onEvent(event), end)
  })
}
