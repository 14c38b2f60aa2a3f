import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createFileBlobs } from './adapters/blobs/file.ts'
import { createMemoryBlobs } from './adapters/blobs/memory.ts'
import { createSystemClock } from './adapters/clock/system.ts'
import { createMemoryFiles } from './adapters/files/memory.ts'
import { createMemoryStore } from './adapters/store/memory.ts'
import { createSqliteStore } from './adapters/store/sqlite.ts'
import { createMemoryWorkspaces } from './adapters/workspace/memory.ts'
import { type Agent, type AgentParts, createAgentFrom } from './agent/agent.ts'
import type { Settings } from './config.ts'
import type { ConversationStore } from './ports/store.ts'

/** What must be said to have an agent: a model. Everything else has a default. */
export type AgentOptions = Omit<AgentParts, 'store' | 'clock'> & Partial<Pick<AgentParts, 'store' | 'clock'>>

/** An agent. Conversations live in memory unless a store is given, and files unless workspaces are. */
export function createAgent(options: AgentOptions): Agent {
  const clock = options.clock ?? createSystemClock()
  const store = options.store ?? createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const workspaces = options.workspaces ?? createMemoryWorkspaces({ blobs: store.blobs, createFiles: createMemoryFiles })
  return createAgentFrom({ ...options, store, clock, workspaces })
}

/** The embedded store: one SQLite file and a folder of blobs, made when they are not there. */
export async function openStore(settings: Pick<Settings, 'data'>): Promise<ConversationStore> {
  await mkdir(settings.data, { recursive: true, mode: 0o700 })
  const blobs = createFileBlobs({ folder: join(settings.data, 'blobs') })
  return createSqliteStore({ file: join(settings.data, 'daybook.db'), blobs, clock: createSystemClock() })
}
