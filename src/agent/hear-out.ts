import type { ModelEvent } from '../core/model-event.ts'
import type { Phase } from './phase.ts'

export interface HearOptions {
  /** Tells the model to stop, as whoever asked may do and `take` does. */
  readonly phase: Pick<Phase, 'whenStopped'>
  /** How long it may take to stop. */
  readonly graceMs: number
  /** False: it wants no more. */
  take(event: ModelEvent): boolean
}

/**
 * Reads what a model says to the end, whatever its adapter does. What that throws, which it should not, is returned; one that was
 * told to stop and does not is left behind, and nothing it says later is heard.
 */
export function hearOut(
  speak: () => AsyncIterable<ModelEvent>,
  { phase, graceMs, take }: HearOptions,
): Promise<{ readonly thrown: unknown } | undefined> {
  return new Promise((resolve) => {
    let over = false
    let leaving: NodeJS.Timeout | undefined
    const end = (broke?: { readonly thrown: unknown }) => {
      over = true
      clearTimeout(leaving)
      resolve(broke)
    }
    const read = async () => {
      try {
        for await (const event of speak()) if (over || !take(event)) break
        end()
      } catch (thrown) {
        end({ thrown })
      }
    }
    phase.whenStopped(() => {
      if (!over) leaving = setTimeout(end, graceMs)
    })
    void read()
  })
}
