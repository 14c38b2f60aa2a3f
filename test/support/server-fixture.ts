import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createMemoryFiles } from '../../src/adapters/files/memory.ts'
import { createMemoryWorkspaces } from '../../src/adapters/workspace/custom/custom.ts'
import { type AgentParts, createAgentFrom } from '../../src/agent/agent.ts'
import type { Agent } from '../../src/agent/agent-interface.ts'
import { type Client, createClient } from '../../src/client/client.ts'
import { type ConversationView, emptyView } from '../../src/client/view/conversation-view.ts'
import { foldEvent } from '../../src/client/view/fold-event.ts'
import type { ConversationStore } from '../../src/ports/store.ts'
import { createLog } from '../../src/server/log.ts'
import { createMetrics, type Metrics, metricsHelp, observe } from '../../src/server/metrics.ts'
import { type RunningServer, serve } from '../../src/server/serve.ts'
import { defaultServerSettings, type ServerSettings } from '../../src/server/settings.ts'
import { type Reply, type ScriptedModel, scriptedModel } from '../../src/testing/scripted-model.ts'
import { openTestStore } from './stores.ts'

/** A real server on 127.0.0.1, with an agent and a scripted model. */
export interface ServerFixture {
  readonly agent: Agent
  readonly server: RunningServer
  readonly client: Client
  readonly store: ConversationStore
  readonly metrics: Metrics
  /** The lines of the server's log. */
  readonly lines: readonly string[]
}

export interface ServerFixtureOptions extends Partial<Omit<AgentParts, 'model' | 'store'>> {
  readonly replies?: readonly Reply[]
  readonly model?: ScriptedModel | AgentParts['model']
  readonly store?: ConversationStore
  readonly server?: Partial<ServerSettings>
}

const running: RunningServer[] = []

export async function openServer({ replies = [], server: wanted = {}, ...parts }: ServerFixtureOptions = {}): Promise<ServerFixture> {
  const clock = parts.clock ?? createSystemClock()
  const store = parts.store ?? (await openTestStore({ clock }))
  const workspaces = parts.workspaces ?? createMemoryWorkspaces({ blobs: store.blobs, createFiles: createMemoryFiles })
  const model = parts.model ?? scriptedModel(replies)
  const metrics = createMetrics(metricsHelp)
  const lines: string[] = []
  const log = createLog((line) => void lines.push(line), clock.now)
  const onProblem: AgentParts['onProblem'] = ({ where, error }) => log('error', 'agent.problem', { where, error })
  const settings = { retryDelaysMs: [0, 0], ...parts.settings }
  const agent = createAgentFrom({ onProblem, ...observe(metrics), ...parts, model, store, clock, workspaces, settings })
  let ids = 0
  const server = await serve({
    agent,
    settings: { ...defaultServerSettings, port: 0, drainMs: 100, ...wanted },
    log,
    metrics,
    now: clock.now,
    newId: () => `id_${++ids}`,
  })
  running.push(server)
  return { agent, server, client: createClient({ baseUrl: server.url }), store, metrics, lines }
}

/** Stops all servers of a test. Call it after each test. */
export async function closeServers(): Promise<void> {
  await Promise.all(running.splice(0).map((server) => server.drain()))
}

/** Follows a conversation, and returns its view after the first event for which `done` is true. */
export async function viewWhen(client: Client, id: string, done: (view: ConversationView) => boolean): Promise<ConversationView> {
  const leave = new AbortController()
  let view = emptyView
  for await (const event of client.follow(id, { signal: leave.signal })) {
    view = foldEvent(view, event)
    if (done(view)) break
  }
  leave.abort()
  return view
}

export const answered = (view: ConversationView): boolean =>
  view.turns.length > 0 && view.turns.every(({ endedAt }) => endedAt !== undefined)
