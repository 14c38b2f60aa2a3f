const channel = new MessageChannel()
const waiting: (() => void)[] = []
channel.port1.onmessage = () => waiting.shift()?.()

/** Resolves in the next task of the browser, which may draw a frame and handle input before. Timers of hidden pages are slower than this. */
export function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    channel.port2.postMessage(undefined)
  })
}
