import type { Attachment } from '../core/block/index.ts'
import type { TurnEvent } from '../core/event.ts'
import { Failure } from '../core/failure.ts'
import type { InboxEvent } from '../core/timeline/change.ts'
import type { TokenCounter } from '../core/tokens.ts'
import { roughTokens } from '../core/tokens.ts'
import type { Clock } from '../ports/clock.ts'
import type { Model } from '../ports/model.ts'
import type { ConversationStore } from '../ports/store.ts'
import { hideTool } from '../tools/react/hide.ts'
import { planTool } from '../tools/react/plan.ts'
import { readTool } from '../tools/react/read.ts'
import { writeTool } from '../tools/react/write.ts'
import type { Tool } from '../tools/tool.ts'
import { type Household, isSuperseded, type Problem, type Running, startTurn, thisProcess } from './conversation.ts'
import type { TurnResult } from './finish.ts'
import { type FollowOptions, follow } from './follow.ts'
import { createHooks, type HookFunctions } from './hooks.ts'
import { createEventQueue, createHub } from './hub.ts'
import type { Steering } from './inbox.ts'
import { systemText } from './prompt/system.ts'
import { type AgentSettings, defaultAgentSettings } from './settings.ts'
import { createToolbox } from './toolbox.ts'
import type { Models } from './turn.ts'
import { createView } from './view.ts'

export interface AgentParts {
  /** One for everything, or one per role. */
  readonly model: Model | (Pick<Models, 'decision'> & Partial<Models>)
  readonly store: ConversationStore
  readonly clock: Clock
  readonly tools?: readonly Tool[]
  readonly instructions?: string
  readonly customisation?: string
  readonly settings?: Partial<AgentSettings>
  readonly hooks?: readonly Partial<HookFunctions>[]
  /** Counts tokens; a rough guess when not given. */
  readonly tokens?: TokenCounter
  /** Told of what cannot reach anybody else: a failing hook, a failing listener. */
  readonly onProblem?: (problem: Problem) => void
}

export interface Submission {
  readonly conversation: string
  readonly input: string
  readonly attachments?: readonly Attachment[]
  /** Stops the turn, as the user would. To look away is enough to stop watching. */
  readonly signal?: AbortSignal
}

/** The events of a turn as they happen, and what came of it. Both can be had, in any order, or neither: the turn runs on. */
export interface TurnHandle extends AsyncIterable<TurnEvent> {
  readonly result: Promise<TurnResult>
}

export interface Agent {
  /** Starts a turn; said to a busy conversation it is a followup. */
  run(submission: Submission): TurnHandle
  /** Interrupts: redirects what is being done, or asks to come to an end. */
  steer(
    conversation: string,
    text: string,
    options?: { readonly mode?: Steering; readonly turnId?: string; readonly eventId?: string },
  ): Promise<void>
  followUp(conversation: string, text: string, options?: { readonly eventId?: string }): Promise<void>
  stop(conversation: string): Promise<void>
  /** What someone thought of a turn; the agent hears of it in the next. */
  feedback(conversation: string, feedback: Feedback): Promise<void>
  follow(conversation: string, options?: FollowOptions): AsyncIterable<TurnEvent>
  /** Takes up every turn that was left behind and that nobody else is working on. Returns what came of each. */
  recover(): Promise<readonly TurnResult[]>
  /** Turns that are running stay open and are taken up by the next process. */
  close(): Promise<void>
}

export interface Feedback {
  readonly turnId: string
  readonly text?: string
  readonly reaction?: 'ok' | 'not_ok' | 'neutral'
  readonly origin?: 'user' | 'machine'
  readonly confidence?: number
}

/** Turns that are taken up side by side: one that waits must not hold up the others. */
const atOnce = 32

export const builtInTools: readonly Tool[] = [readTool, writeTool, hideTool, planTool]

export function createAgentFrom(parts: AgentParts): Agent {
  const { store, clock, onProblem = () => {} } = parts
  const hub = createHub((error) => onProblem({ where: 'listener', error }))
  const owner = thisProcess(clock)
  const tools = [...builtInTools, ...(parts.tools ?? [])]
  const count = parts.tokens ?? roughTokens
  const system = systemText({
    tools,
    ...(parts.instructions !== undefined && { instructions: parts.instructions }),
    ...(parts.customisation !== undefined && { customisation: parts.customisation }),
  })
  let systemTokens: number | undefined
  const household: Household = {
    store,
    clock,
    hub,
    models: modelsOf(parts.model),
    toolbox: createToolbox(tools),
    system,
    systemTokens: () => (systemTokens ??= count(system)),
    settings: { ...defaultAgentSettings, ...parts.settings },
    hooks: createHooks(parts.hooks ?? [], { timeoutMs: 10_000, onError: (where, error) => onProblem({ where, error }) }),
    createView: () => createView(count),
    onProblem,
  }
  const active = new Map<string, Promise<Running | undefined>>()
  let closed = false

  /** One turn at a time: whoever comes second finds the first. */
  function start(conversation: string, opening: Parameters<typeof startTurn>[3]): Promise<Running | undefined> {
    if (closed) return Promise.reject(new Failure('store.closed', 'this agent is closed'))
    const starting = startTurn(household, owner, conversation, opening)
    active.set(conversation, starting)
    const gone = () => {
      if (active.get(conversation) === starting) active.delete(conversation)
    }
    starting.then((running) => (running ? running.over.then(gone, gone) : gone()), gone)
    return starting
  }

  async function accept(conversation: string, event: Omit<InboxEvent, 'sequence'>): Promise<Running | undefined> {
    const running = await active.get(conversation)
    await running?.inbox.accept(event)
    return running
  }
  const newEvent = (kind: InboxEvent['kind'], text: string, eventId?: string) => ({
    event_id: eventId ?? clock.randomHex(12),
    kind,
    ts: clock.now(),
    text,
  })

  async function submit({ conversation, input, attachments = [], signal }: Submission): Promise<TurnResult> {
    const busy = active.has(conversation) ? await accept(conversation, newEvent('followup', input)) : undefined
    const running = busy ?? (await start(conversation, { text: input, attachments }))
    if (!running) throw new Failure('conversation.missing', `there is no turn to run in ${conversation}`)
    const stop = () => void running.inbox.accept(newEvent('steer', '')).catch((error: unknown) => onProblem({ where: 'stop', error }))
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
    try {
      return await running.over
    } finally {
      signal?.removeEventListener('abort', stop)
    }
  }

  return {
    run(submission) {
      const queue = createEventQueue(() => unsubscribe())
      const unsubscribe = hub.subscribe(submission.conversation, queue.push)
      const result = submit(submission).finally(() => {
        unsubscribe()
        queue.close()
      })
      result.catch(() => {}) // whoever wants to know awaits it; nobody has to
      return { result, [Symbol.asyncIterator]: () => queue[Symbol.asyncIterator]() }
    },
    async steer(conversation, text, { mode = 'redirect', turnId, eventId } = {}) {
      const event = { ...newEvent('steer', text, eventId), payload: { mode }, ...(turnId !== undefined && { target_turn_id: turnId }) }
      await accept(conversation, event)
    },
    async followUp(conversation, text, { eventId } = {}) {
      const running = await accept(conversation, newEvent('followup', text, eventId))
      if (!running) await start(conversation, { text, attachments: [] })
    },
    async stop(conversation) {
      await accept(conversation, newEvent('steer', ''))
    },
    async feedback(conversation, { turnId, text = '', ...payload }) {
      const event = { ...newEvent('feedback', text), target_turn_id: turnId, payload }
      if (await accept(conversation, event)) return
      const claim = await store.claim(conversation, owner)
      const saved = await store.loadVisible(conversation)
      const sequence = (saved?.timeline.lastEvent?.sequence ?? 0) + 1
      await store.append(claim, [{ type: 'event.accepted', event: { ...event, sequence } }])
      await store.release(claim)
    },
    follow: (conversation, options = {}) => follow(conversation, options, hub, store),
    async recover() {
      const left: string[] = []
      for await (const conversation of openConversations(store)) left.push(conversation) // first: taking one up moves it in the list
      const results: TurnResult[] = []
      const failures: unknown[] = []
      const takeUpNext = async (): Promise<void> => {
        for (let conversation = left.shift(); conversation !== undefined; conversation = left.shift()) {
          if (active.has(conversation)) continue
          try {
            const running = await start(conversation, 'left-behind')
            if (running) results.push(await running.over)
          } catch (error) {
            if (!isBusy(error) && !isSuperseded(error)) failures.push(error) // otherwise someone else is at it
          }
        }
      }
      await Promise.all(Array.from({ length: atOnce }, takeUpNext))
      if (failures.length > 0) throw new AggregateError(failures, `${failures.length} turns could not be taken up`)
      return results
    },
    async close() {
      closed = true
      const running = await Promise.allSettled(active.values())
      for (const each of running)
        if (each.status === 'fulfilled') each.value?.abort(new DOMException('The agent is closing.', 'AbortError'))
      await Promise.allSettled(running.map((each) => (each.status === 'fulfilled' ? each.value?.over : undefined)))
    },
  }
}

function modelsOf(model: AgentParts['model']): Models {
  if ('stream' in model) return { decision: model, gate: model, compaction: model }
  return { gate: model.decision, compaction: model.decision, ...model }
}

async function* openConversations(store: ConversationStore): AsyncGenerator<string> {
  let cursor: string | undefined
  do {
    const page = await store.list({ open: true, limit: 100, ...(cursor !== undefined && { cursor }) })
    for (const { conversationId } of page.conversations) yield conversationId
    cursor = page.next
  } while (cursor !== undefined)
}

const isBusy = (error: unknown) => error instanceof Failure && error.code === 'conversation.busy'
