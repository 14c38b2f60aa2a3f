import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createPostgresStore } from '../../src/adapters/store/postgres/store.ts'
import { createAgentFrom } from '../../src/agent/agent.ts'
import type { Agent } from '../../src/agent/agent-interface.ts'
import type { Relay } from '../../src/ports/store/relay.ts'
import { type Reply, scriptedModel } from '../../src/testing/scripted-model.ts'

interface ReplicaOptions {
  /** The address of the database that the replicas share. */
  readonly url: string
  readonly schema?: string
  readonly replies?: readonly Reply[]
  /** By default, live events go over the database. */
  readonly relay?: Relay
}

/** Opens an agent with connections of its own, like an agent in another process. */
export async function openReplica({ replies = [], ...place }: ReplicaOptions): Promise<{ agent: Agent; close(): Promise<void> }> {
  const clock = createSystemClock()
  const store = await createPostgresStore({ ...place, clock, maxConnections: 4 })
  const agent = createAgentFrom({ model: scriptedModel(replies), store, clock })
  const close = async () => {
    await agent.close()
    await store.close()
  }
  return { agent, close }
}
