import { Failure } from '../../core/failure.ts'

/** A name must survive being written as UTF-8. */
export function checkConversationName(conversationId: string): void {
  if (conversationId !== '' && conversationId.isWellFormed()) return
  throw new Failure('change.invalid', `a conversation needs a name of well-formed text, not ${JSON.stringify(conversationId)}`)
}

export const conversationMissing = (conversationId: string) =>
  new Failure('conversation.missing', `there is no conversation ${conversationId}`, { details: { conversationId } })

export const conversationExists = (conversationId: string) =>
  new Failure('conversation.exists', `there is already a conversation ${conversationId}: import it under another name`, {
    details: { conversationId },
  })
