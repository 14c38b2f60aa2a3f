import type { Agent } from '../agent/agent-interface.ts'
import type { ServerSettings } from './settings.ts'

/**
 * Lets the agent take conversations with work from the store, unless the server only accepts messages. After a call of the returned
 * function, the agent takes no further ones. Running conversations go on.
 */
export function startWork(
  agent: Pick<Agent, 'work'>,
  { role, workConversations, workPerTenant, workAttempts }: Pick<ServerSettings, WorkSettings>,
): () => void {
  if (role === 'web') return () => {}
  return agent.work({
    conversations: workConversations,
    attempts: workAttempts,
    ...(workPerTenant !== undefined && { perTenant: workPerTenant }),
  })
}

type WorkSettings = 'role' | 'workConversations' | 'workPerTenant' | 'workAttempts'
