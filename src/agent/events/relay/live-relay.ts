import type { Relay } from '../../../ports/store/relay.ts'
import type { EventHub } from '../event-hub.ts'
import { createTextReader, MAX_TEXT, splitText } from './frames.ts'
import { formatMessage, parseMessage, type RelayMessage } from './messages.ts'
import { createLiveReceiver, type LiveReceiver } from './receiver.ts'
import { createLiveSender } from './sender.ts'

/** The address to which every process listens. */
const EVERYONE = 'all'

/** Sends the live events of this process to followers in other processes, and receives the live events of other processes. */
export interface LiveRelay extends Pick<LiveReceiver, 'join'> {
  close(): void
}

/**
 *   process A runs c1                                       process B has followers of c1
 *     hub ─▶ sender  ◀── request c1, after the last event ──  receiver ─▶ followers
 *                    ──  batches with events, every 50 ms ─▶
 *
 * A request is sent to all processes, and the process that runs the conversation answers with the live events of the current response. It
 * then sends events until 15 seconds after the last request. Batches are numbered, so the receiver notices a lost batch and requests the
 * events again. Entries are not sent over the relay: followers read them from the store. When a follower has read the entry of a response,
 * the live events of that response are dropped.
 */
export function openLiveRelay(relay: Relay, hub: EventHub, address: string): LiveRelay {
  let texts = 0
  async function send(to: string, message: RelayMessage): Promise<void> {
    const text = formatMessage(message)
    if (text.length > MAX_TEXT) return // the text is too long, and followers get it with its entry
    await Promise.all(splitText(address, ++texts, text, relay.maxBytes).map((part) => relay.send(to, part)))
  }
  const sender = createLiveSender(hub, send)
  const sendToAll = (message: RelayMessage) => {
    send(EVERYONE, message).catch(() => {}) // the message is sent again when the connection is restored
  }
  const receiver = createLiveReceiver(hub, (requests, ends) => sendToAll({ type: 'requests', requests, ends }))
  const onMessage = createTextReader((from, text) => {
    if (from === address) return
    const message = parseMessage(text)
    if (message?.type === 'requests') sender.onRequests(from, message.requests, message.ends)
    else if (message?.type === 'batches') receiver.onBatches(message.batches)
    else if (message?.type === 'connected') receiver.requestAll()
  })
  const onConnected = () => {
    sendToAll({ type: 'connected' })
    receiver.requestAll()
  }
  const stopListening = relay.listen([EVERYONE, address], { onMessage, onConnected })
  return {
    join: receiver.join,
    close() {
      stopListening()
      sender.close()
      receiver.close()
    },
  }
}
