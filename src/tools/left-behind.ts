/**
 * The work's own end, or undefined when it was told to stop and is still not done after the grace. Whatever it does then is nobody's
 * business any more.
 */
export function withGracePeriod<T>(
  work: Promise<T>,
  signal: AbortSignal,
  graceMs: number,
  onLeft: () => void = () => {},
): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined
    const arm = () => {
      timer = setTimeout(() => {
        onLeft()
        resolve(undefined)
      }, graceMs)
    }
    const disarm = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', arm)
    }
    if (signal.aborted) arm()
    else signal.addEventListener('abort', arm)
    work.then(
      (result) => {
        disarm()
        resolve(result)
      },
      (error: unknown) => {
        disarm()
        reject(error)
      },
    )
  })
}
