import { randomBytes } from 'node:crypto'
import type { Relay } from '../../../ports/store/relay.ts'
import type { EventHub } from '../event-hub.ts'
import type { LiveRelay } from './live-relay.ts'

/** The live events of other processes, for an agent whose store has a relay. */
export interface RemoteEvents {
  open(): Promise<LiveRelay>
  close(): Promise<void>
}

/** Opens the relay when the first conversation runs or is followed. Its code is imported only then, because most agents have no relay. */
export function remoteEvents(relay: Relay, hub: EventHub): RemoteEvents {
  const address = randomBytes(10).toString('hex') // random, so that no other agent has this address
  let opened: Promise<LiveRelay> | undefined
  const open = () => {
    opened ??= import('./live-relay.ts').then(({ openLiveRelay }) => openLiveRelay(relay, hub, address))
    return opened
  }
  hub.onOpened(() => void open())
  return { open, close: async () => (await opened)?.close() }
}
