const channel = new MessageChannel()
const waiting: (() => void)[] = []
channel.port1.onmessage = () => waiting.shift()?.()

/**
 * Resolves in the next task of the browser. Before it, the browser may draw a frame and handle input. A timer is not used, because timers
 * of hidden pages are slow.
 */
export function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    channel.port2.postMessage(undefined)
  })
}
