import type { ModelEvent } from '../core/model-event.ts'
import { forEachOf } from './for-each-of.ts'
import type { Phase } from './phase.ts'

export interface Hearing<Heard> {
  /** Tells the model to stop, as whoever asked may do and `take` does. */
  readonly phase: Pick<Phase, 'whenStopped'>
  /** How long it may take to stop. */
  readonly graceMs: number
  /** False: it wants no more. */
  take(event: ModelEvent): boolean
  /** What came of it. An adapter should not throw; if it does, here is what. */
  over(broke: { readonly thrown: unknown } | undefined): Heard
}

/**
 * Reads what a model says to the end, whatever its adapter does. One that was told to stop and does not is left behind, and nothing it
 * says later is heard.
 */
export function hearOut<Heard>(speak: () => AsyncIterable<ModelEvent>, hearing: Hearing<Heard>): Promise<Heard> {
  return new Promise((resolve, reject) => {
    let ended = false
    let leaving: NodeJS.Timeout | undefined
    const end = (broke?: { readonly thrown: unknown }) => {
      if (ended) return
      ended = true
      clearTimeout(leaving)
      try {
        resolve(hearing.over(broke))
      } catch (error) {
        reject(error)
      }
    }
    hearing.phase.whenStopped(() => {
      if (!ended) leaving = setTimeout(end, hearing.graceMs)
    })
    forEachOf(speak, (event) => !ended && hearing.take(event), end)
  })
}
