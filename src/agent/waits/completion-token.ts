import { createHash } from 'node:crypto'
import type { BlockOrigin } from '../../core/block/index.ts'
import type { Turn } from '../turn/turn.ts'
import { waitingChange } from './approvals.ts'

/**
 * Makes the token of a call. With the token, another system can deliver the result of the call once, without any other permission. Only the
 * hash of the token is stored. The token names the conversation and the call.
 */
export async function createCompletionToken(turn: Turn, { callId }: BlockOrigin): Promise<string> {
  const { agent, conversation } = turn
  const token = `${Buffer.from(conversation.conversationId).toString('base64url')}.${callId}.${agent.clock.randomHex(48)}`
  const wait = {
    wait_id: `complete-${callId}`,
    kind: 'later' as const,
    call_id: callId,
    token_sha256: hashToken(token),
    running: true as const,
  }
  await conversation.ledger.commit(waitingChange(turn, [wait], true))
  return token
}

export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex')

/** The conversation that a token names. Undefined when the text is not a token. The token is not checked. */
export function conversationOfToken(token: string): string | undefined {
  const [encoded = '', callId, secret] = token.split('.')
  return callId && secret && encoded !== '' ? Buffer.from(encoded, 'base64url').toString() : undefined
}
