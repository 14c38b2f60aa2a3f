import type { Agent } from '../agent/agent-interface.ts'
import type { Log } from './log.ts'
import type { ServerSettings } from './settings.ts'

/**
 * Lets the agent take conversations with work from the store, unless the server only accepts messages. For each turn that another process
 * has left open and that continues here, a line is written to the log. After a call of the returned function, the agent takes no further
 * conversations. Running conversations continue.
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
