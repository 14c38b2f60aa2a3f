import type { Agent } from '../agent/agent-interface.ts'
import type { Log } from './log.ts'
import type { ServerSettings } from './settings.ts'

/**
 * Lets the agent take conversations with work from the store, unless the server only accepts messages. After a call of the returned
 * function, the agent takes no further ones. The log has a line for each turn that another process has left open and that goes on here.
 * Running conversations go on.
 */
export function startWork(
  agent: Pick<Agent, 'work'>,
  { role, workConversations, workPerTenant, workAttempts }: Pick<ServerSettings, WorkSettings>,
  log: Log,
): () => void {
  if (role === 'web') return () => {}
  return agent.work({
    conversations: workConversations,
    attempts: workAttempts,
    onResumed: ({ conversationId, turnId }) => log('info', 'turn.resumed', { conversation: conversationId, turn: turnId }),
    ...(workPerTenant !== undefined && { perTenant: workPerTenant }),
  })
}

type WorkSettings = 'role' | 'workConversations' | 'workPerTenant' | 'workAttempts'
