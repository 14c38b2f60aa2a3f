import type { Relay, RelayListener } from '../../src/ports/store/relay.ts'

/** Relays in one process. `drops` says which messages are lost: it gets the number of the message, from 0. */
export function createMemoryRelays(drops: (number: number, text: string) => boolean = () => false, maxBytes = 7_500) {
  const listeners = new Set<{ readonly addresses: readonly string[]; readonly listener: RelayListener }>()
  const sent: { readonly address: string; readonly text: string }[] = []
  return {
    /** All messages that were sent, including the lost messages. */
    sent: sent as readonly { readonly address: string; readonly text: string }[],
    open: (): Relay => ({
      maxBytes,
      async send(address, text) {
        if (Buffer.byteLength(text) > maxBytes) throw new Error('the message is too large')
        const isLost = drops(sent.length, text)
        sent.push({ address, text })
        if (isLost) return
        for (const { addresses, listener } of [...listeners]) if (addresses.includes(address)) setImmediate(listener.onMessage, text)
      },
      listen(addresses, listener) {
        const own = { addresses, listener }
        listeners.add(own)
        setImmediate(listener.onConnected)
        return () => void listeners.delete(own)
      },
    }),
    /** Sends a text to an address, as a hostile process could. */
    inject(address: string, text: string) {
      for (const { addresses, listener } of [...listeners]) if (addresses.includes(address)) listener.onMessage(text)
    },
    /** The address of each agent that listens. */
    addresses: () => [...listeners].flatMap(({ addresses }) => addresses.filter((address) => address !== 'all')),
  }
}
