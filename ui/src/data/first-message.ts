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

/** Undefined for a conversation that was not created last in this tab. */
export const firstMessageOf = (conversationId: string): FirstMessage | undefined =>
  latest?.conversationId === conversationId ? latest : undefined
