/** The time limit of a call. It pauses while a person answers a question of the server. */
export function createCallTimer(parent: AbortSignal, ms: number) {
  const controller = new AbortController()
  const signal = AbortSignal.any([parent, controller.signal])
  let left = ms
  let started = Date.now()
  let pauses = 0
  let timer: NodeJS.Timeout | undefined = setTimeout(expire, left)

  function expire(): void {
    controller.abort(new Error('the time of the call is over'))
  }

  return {
    signal,
    get hasExpired(): boolean {
      return controller.signal.aborted
    },
    pause(): void {
      if (pauses++ > 0) return
      clearTimeout(timer)
      left -= Date.now() - started
    },
    go(): void {
      if (--pauses > 0) return
      started = Date.now()
      timer = setTimeout(expire, Math.max(0, left))
    },
    end(): void {
      clearTimeout(timer)
    },
  }
}
