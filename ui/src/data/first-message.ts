/** The message that created a conversation. The page shows it until the conversation has arrived from the server. */
export interface FirstMessage {
  readonly conversationId: string
  readonly text: string
  readonly fileNames: readonly string[]
}

let latest: FirstMessage | undefined

export function rememberFirstMessage(message: FirstMessage): void {
  latest = message
}

/**
 * The message that created this conversation. Only the message of the newest conversation of this tab is kept. For other conversations, the
 * result is undefined.
 */
export const firstMessageOf = (conversationId: string): FirstMessage | undefined =>
  latest?.conversationId === conversationId ? latest : undefined
