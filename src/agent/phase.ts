/** Something that a turn does and that may be stopped from outside. */
export interface Phase {
  /** Fires when a steer comes in, or when the turn is cancelled. */
  readonly signal: AbortSignal
  /** Whoever does it may also stop it. */
  abort(reason: unknown): void
  /** Calls back at that moment, or at once when it has come already. The latest counts. Cheaper than to listen to the signal. */
  whenStopped(act: () => void): void
  /** It is done. */
  end(): void
}

export function openPhase(end: () => void = () => {}): Phase {
  const stopping = new AbortController()
  const { signal } = stopping
  let act: (() => void) | undefined
  return {
    signal,
    abort(reason) {
      if (signal.aborted) return
      stopping.abort(reason)
      act?.()
    },
    whenStopped(latest) {
      act = latest
      if (signal.aborted) latest()
    },
    end,
  }
}
