/** Something that a turn does and that may be stopped from outside. */
export interface Activity {
  /** Fires when a steer comes in, or when the turn is cancelled. */
  readonly signal: AbortSignal
  /** Whoever does it may also stop it. */
  abort(reason: unknown): void
  /** Calls back at that moment, or at once when it has come already. The latest counts. Cheaper than to listen to the signal. */
  onStop(act: () => void): void
  /** It is done. */
  end(): void
}

/** Phases lie one within another: whichever began last ends first. */
export function openActivity(open: Activity[] = []): Activity {
  const phase = new OpenActivity(open)
  open.push(phase)
  return phase
}

/** Two are opened in every round: a class, because closures for each of them would be most of what a phase costs. */
class OpenActivity implements Activity {
  readonly signal: AbortSignal
  private readonly stopping = new AbortController()
  private readonly open: Activity[]
  private readonly outer: number
  private act: (() => void) | undefined = undefined

  constructor(open: Activity[]) {
    this.signal = this.stopping.signal
    this.open = open
    this.outer = open.length
  }

  abort(reason: unknown): void {
    if (this.signal.aborted) return
    this.stopping.abort(reason)
    this.act?.()
  }

  onStop(latest: () => void): void {
    this.act = latest
    if (this.signal.aborted) latest()
  }

  end(): void {
    while (this.open.length > this.outer) this.open.pop() // to set its length costs nine times as much
  }
}
