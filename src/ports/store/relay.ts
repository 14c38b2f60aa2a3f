/**
 * Carries short messages between the processes that share a store, such as the text that a model is writing. A relay may lose messages, so
 * data that has to be stored must not depend on it. It does not alter messages, and it delivers the messages of one sender to one address
 * in the order in which they were sent. Every implementation passes testing/conformance/relay.ts.
 */
export interface Relay {
  /** The greatest size of a message, in bytes of UTF-8. */
  readonly maxBytes: number
  /**
   * Sends a message to the processes that listen to the address, including this one. Rejects if the message could not be sent. It does not
   * wait until a lost connection is restored. An address has 1 to 24 lower-case letters and digits.
   */
  send(address: string, text: string): Promise<void>
  /**
   * Listens to addresses until the returned function is called. After a lost connection, the relay connects again by itself. Listening
   * alone does not keep the process running.
   */
  listen(addresses: readonly string[], listener: RelayListener): () => void
}

/** The callbacks of `Relay.listen`. They must not throw. */
export interface RelayListener {
  onMessage(text: string): void
  /** Called when messages begin to arrive, and again after a lost connection. Messages that were sent before may be lost. */
  onConnected(): void
}
