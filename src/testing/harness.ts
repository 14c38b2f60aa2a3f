import { createMemoryBlobs } from '../adapters/blobs/memory.ts'
import { createMemoryFiles } from '../adapters/files/memory.ts'
import { createTemporaryFolder } from '../adapters/files/temporary.ts'
import { namedFolders } from '../adapters/knowledge/folder.ts'
import { openKnowledge } from '../adapters/knowledge/knowledge.ts'
import { openSkillFolders } from '../adapters/skills/skill-folders.ts'
import { parseYaml } from '../adapters/skills/yaml.ts'
import { createMemoryStore } from '../adapters/store/memory/store.ts'
import { createMemoryWorkspaces } from '../adapters/workspace/custom/custom.ts'
import { type AgentParts, createAgentFrom } from '../agent/agent.ts'
import type { Agent } from '../agent/agent-interface.ts'
import type { TurnResult } from '../agent/turn/result.ts'
import { type Notice, readNotice } from '../core/block/round.ts'
import type { TurnEvent } from '../core/event.ts'
import type { Change } from '../core/timeline/change.ts'
import { emptyTimeline, type Timeline } from '../core/timeline/timeline.ts'
import type { Hosting } from '../ports/hosting.ts'
import type { Knowledge, KnowledgeSearch } from '../ports/knowledge.ts'
import type { FolderList, Skills } from '../ports/skills.ts'
import type { ConversationStore } from '../ports/store.ts'
import type { Workspaces } from '../ports/workspace.ts'
import { createFixedClock, type FixedClock } from './fixed-clock.ts'
import { type Reply, type ScriptedModel, scriptedModel } from './scripted-model.ts'

/**
 * An agent for tests, with the objects it is made of. By default it has a scripted model, a fixed clock, and a store and files in memory.
 */
export interface Harness {
  readonly agent: Agent
  readonly model: ScriptedModel
  readonly clock: FixedClock
  readonly store: ConversationStore
  readonly workspaces: Workspaces
  readonly hosting: Hosting | undefined
  readonly conversationId: string
  /** Sends a message and resolves when its turn has ended. */
  say(text: string): Promise<RecordedTurn>
  timeline(): Promise<Timeline>
  journal(): Promise<readonly Change[]>
}

/** The result of a turn, with the events of the turn. */
export interface RecordedTurn extends TurnResult {
  readonly events: readonly TurnEvent[]
  /**
   * What Daybook told the model about mistakes: calls of tools that do not exist, wrong parameters, calls that failed and broken rules. A
   * turn can end with `complete` although it has notices, because a model can correct a mistake and continue.
   */
  readonly notices: readonly Notice[]
}

/** Options of `createHarness`. Only `replies` is required. */
export interface HarnessOptions extends Partial<Omit<AgentParts, 'model' | 'store' | 'clock'>> {
  readonly replies: readonly Reply[]
  /**
   * An agent that `defineAgent` has returned. The scripted model replaces its model. The other options of the harness take precedence over
   * the fields of this agent.
   */
  readonly agent?: Partial<Omit<AgentParts, 'model' | 'store' | 'clock'>> & {
    readonly model?: unknown
    readonly skills?: FolderList | Skills
    readonly knowledge?: FolderList | (Knowledge & KnowledgeSearch)
  }
  readonly store?: ConversationStore
  readonly clock?: FixedClock
  readonly model?: ScriptedModel
  readonly conversationId?: string
  /** Whether `say` rejects if the turn has `notices`. Default: false. */
  readonly strict?: boolean
}

/** The knowledge base of a test agent reads texts and Markdown, and leaves out PDF and HTML. */
const memoryIndex = { index: ':memory:', readers: { yaml: parseYaml } }

/** Creates an agent for tests. The scripted model gives the `replies` in order. */
export function createHarness({
  replies,
  conversationId = 'c1',
  strict = false,
  agent: definition = {},
  ...more
}: HarnessOptions): Harness {
  const { model: _, skills, knowledge, ...defined } = definition
  const searched = knowledge && ('read' in knowledge ? knowledge : openKnowledge({ ...memoryIndex, folders: namedFolders(knowledge) }))
  const builtIn = {
    ...(skills && { skills: 'read' in skills ? skills : openSkillFolders(skills) }),
    ...(searched && { knowledge: searched, knowledgeSearch: searched }),
    ...defined.builtIn,
    ...more.builtIn,
  }
  const options: Omit<HarnessOptions, 'replies' | 'conversationId' | 'agent' | 'strict'> = { ...defined, ...more, builtIn }
  const clock = options.clock ?? createFixedClock()
  const store = options.store ?? createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const model = options.model ?? scriptedModel(replies)
  const settings = { retryDelaysMs: [0, 0], ...options.settings }
  const folders = { createFiles: createMemoryFiles, openTemporary: createTemporaryFolder }
  const workspaces = options.workspaces ?? keepFolders(createMemoryWorkspaces({ blobs: store.blobs, ...folders }))
  const onEntry: AgentParts['onEntry'] = (conversationId, event) => {
    deepFreeze(event.change)
    options.onEntry?.(conversationId, event)
  }
  const agent = createAgentFrom({ ...options, model, store, clock, settings, workspaces, onEntry })
  return {
    agent,
    model,
    clock,
    store,
    workspaces,
    hosting: options.hosting,
    conversationId,
    async say(input) {
      const turn = agent.run(conversationId, input)
      const events: TurnEvent[] = []
      for await (const event of turn) events.push(event)
      const result = await turn.result
      const notices = noticesIn(events)
      if (strict && notices.length > 0) throw new Error(`the turn has notices:\n${notices.map(noticeLine).join('\n')}`)
      return { ...result, events, notices }
    },
    timeline: async () => (await store.loadVisible(conversationId))?.timeline ?? emptyTimeline(),
    async journal() {
      const changes: Change[] = []
      for await (const { change } of store.readJournal(conversationId, { after: 0 })) changes.push(change)
      return changes
    },
  }
}

/** The notices of a turn, from its events. The notice that a plan was closed is left out, because it is not about a mistake. */
export const noticesIn = (events: readonly TurnEvent[]): readonly Notice[] =>
  events
    .flatMap((event) => (event.type === 'entry' && event.change.type === 'blocks.appended' ? event.change.blocks : []))
    .flatMap((block) => readNotice(block) ?? [])
    .filter(({ code }) => code !== 'plan_closed')

const noticeLine = ({ code, message }: Notice): string => `${code}: ${message}`

/** Workspaces that do not remove the folders of closed turns, so that a test can read them. */
export const keepFolders = (workspaces: Workspaces): Workspaces => ({
  ...workspaces,
  open: async (owner, conversationId) => ({ ...(await workspaces.open(owner, conversationId)), removeFinished: async () => {} }),
})

/**
 * Freezes a value, so that a test fails when a listener modifies an event. Only the harness freezes events. In production this would take
 * too much time.
 */
function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  Object.values(Object.freeze(value)).forEach(deepFreeze)
}
