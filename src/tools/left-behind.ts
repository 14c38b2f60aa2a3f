/** Resolves when the grace is over that whoever hears the signal has to come to an end. Cancel it when they did. */
export function whenLeftBehind(signal: AbortSignal, graceMs: number): { readonly promise: Promise<undefined>; cancel(): void } {
  let timer: NodeJS.Timeout | undefined
  let arm: () => void = () => {}
  const promise = new Promise<undefined>((resolve) => {
    arm = () => {
      timer = setTimeout(() => resolve(undefined), graceMs)
    }
    if (signal.aborted) arm()
    else signal.addEventListener('abort', arm, { once: true })
  })
  return {
    promise,
    cancel() {
      clearTimeout(timer)
      signal.removeEventListener('abort', arm)
    },
  }
}
