import type { ModelEvent } from '../core/model-event.ts'
import { orLeftBehind } from '../tools/left-behind.ts'

export interface HearOptions {
  /** Tells the model to stop, as whoever asked may do and `take` does. */
  readonly stop: AbortSignal
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
  { stop, graceMs, take }: HearOptions,
): Promise<{ readonly thrown: unknown } | undefined> {
  let left = false
  const reading = async () => {
    try {
      for await (const event of speak()) if (left || !take(event)) break
    } catch (thrown) {
      return { thrown }
    }
  }
  return orLeftBehind(reading(), stop, graceMs, () => {
    left = true
  })
}
