import type { TokenCounter } from '../core/estimate/tokens.ts'
import { roughTokens } from '../core/estimate/tokens.ts'
import type { EntryEvent, TurnEvent } from '../core/event.ts'
import { Failure } from '../core/failure.ts'
import type { InboxEvent } from '../core/timeline/change.ts'
import type { Clock } from '../ports/clock.ts'
import type { DocumentReader } from '../ports/documents.ts'
import type { Hosting } from '../ports/hosting.ts'
import type { Model } from '../ports/model.ts'
import type { ConversationStore } from '../ports/store.ts'
import type { Workspaces } from '../ports/workspace.ts'
import type { AttachmentPolicy } from '../tools/attachments/ingest.ts'
import type { Upload } from '../tools/attachments/upload.ts'
import type { Tool } from '../tools/tool.ts'
import { modelsByRole } from './agent-context.ts'
import { type Archive, createArchive } from './archive.ts'
import { createAdmission } from './conversation/admission.ts'
import { type AgentContext, createOwner, followupEvent, type Problem, startConversation } from './conversation/conversation.ts'
import type { Inbox, NewEvent, SteerMode } from './conversation/inbox.ts'
import { createRenderers } from './conversation/renderers.ts'
import { createRunningConversations } from './conversation/running.ts'
import { type Bookkeeping, noBookkeeping } from './conversation/spending.ts'
import { createEventHub } from './events/event-hub.ts'
import { type FollowOptions, follow } from './events/follow.ts'
import { openTurnHandle, type TurnHandle } from './events/turn-handle.ts'
import { createHooks, type HookFunctions, safeCallbacks } from './hooks.ts'
import { type Accepted, checkEventId, checkText, type Delivery, type Feedback, type Notification, type Submission } from './message.ts'
import { systemFingerprint, systemText } from './prompts/texts.ts'
import { recoverAll } from './recovery/recover.ts'
import { type AgentSettings, agentSettings } from './settings.ts'
import { type BuiltInOptions, builtInTools, createToolbox } from './tools.ts'
import type { TurnResult } from './turn/finish.ts'
import type { Models } from './turn/turn.ts'

export interface AgentParts {
  /** One for everything, or one per role. */
  readonly model: Model | (Pick<Models, 'decision'> & Partial<Models>)
  readonly store: ConversationStore
  readonly clock: Clock
  /** Without them the agent has no files: tools that need them say so. */
  readonly workspaces?: Workspaces
  /** Without it files are made and kept, but not handed over. */
  readonly hosting?: Hosting
  /** Without it PDFs are checked only from outside. */
  readonly documents?: DocumentReader
  /** What is done with files that users send, beyond the checks that are always made. */
  readonly attachments?: AttachmentPolicy
  readonly tools?: readonly Tool[]
  /** What the tools of the runtime read and search besides the timeline: memory, knowledge, skills. */
  readonly builtIn?: Omit<BuiltInOptions, 'contextTokens' | 'documents'>
  readonly instructions?: string
  readonly customisation?: string
  readonly settings?: Partial<AgentSettings>
  readonly hooks?: readonly Partial<HookFunctions>[]
  /** What providers charge and how they cache, for whoever asks what a conversation has cost. */
  readonly bookkeeping?: Bookkeeping
  /** Counts tokens; a rough guess when not given. */
  readonly tokens?: TokenCounter
  /** Told of every entry of every conversation as it is made, for whoever counts. */
  readonly onEntry?: (conversation: string, event: EntryEvent) => void
  /** Told of what cannot reach anybody else: a failing hook, a failing listener. */
  readonly onProblem?: (problem: Problem) => void
}

export interface Agent {
  /** Starts a turn; said to a busy conversation it is a followup. */
  run(submission: Submission): TurnHandle
  /** Like `run`, for whoever follows the events instead: resolves when what was said is in the journal, long before it is answered. */
  submit(conversation: string, text: string, options?: Delivery & { readonly attachments?: readonly Upload[] }): Promise<Accepted>
  /** Interrupts: redirects what is being done, or asks to come to an end; blank, it stops. False when nothing is running. */
  steer(
    conversation: string,
    text: string,
    options?: { readonly mode?: SteerMode; readonly turnId?: string; readonly eventId?: string },
  ): Promise<boolean>
  /** Like `run`, for whoever does not wait for the answer. */
  followUp(conversation: string, text: string, options?: Delivery & { readonly attachments?: readonly Upload[] }): Promise<void>
  /** False when nothing is running. */
  stop(conversation: string): Promise<boolean>
  /** What someone thought of a turn; the agent hears of it in the next. */
  feedback(conversation: string, feedback: Feedback): Promise<void>
  /** Something happened that nobody said: a service alert, the result of a publish. It is read in the running turn, else in the next. */
  notify(conversation: string, text: string, options?: Notification): Promise<void>
  follow(conversation: string, options?: FollowOptions): AsyncIterable<TurnEvent>
  /** The conversations that are being worked on here. */
  readonly running: Iterable<string>
  /** Conversations, besides taking turns in them. */
  readonly archive: Archive
  /** Takes up every turn that was left behind, and begins one where a followup was; not where somebody else is at work. Returns what came of each. */
  recover(): Promise<readonly TurnResult[]>
  /** When nothing is running any more, or the time is up. */
  drain(withinMs: number): Promise<void>
  /** Turns that are running stay open and are taken up by the next process. */
  close(): Promise<void>
}

export function createAgentFrom(parts: AgentParts): Agent {
  const { store, clock } = parts
  const { onEntry, onProblem } = safeCallbacks(parts)
  const hub = createEventHub((error) => onProblem({ where: 'listener', error }))
  const owner = createOwner(clock)
  const settings = agentSettings(parts.settings)
  const models = modelsByRole(parts.model)
  const { documents, attachments: policy = {} } = parts
  const readsForModel = documents && models.decision.documents?.includes('application/pdf') === false ? { documents } : {}
  const tools = [...builtInTools({ ...parts.builtIn, ...readsForModel, contextTokens: settings.contextTokens }), ...(parts.tools ?? [])]
  const count = parts.tokens ?? roughTokens
  const system = systemText({
    tools,
    ...(parts.instructions !== undefined && { instructions: parts.instructions }),
    ...(parts.customisation !== undefined && { customisation: parts.customisation }),
  })
  let systemTokens: number | undefined
  const household: AgentContext = {
    store,
    clock,
    hosting: parts.hosting,
    workspaces: parts.workspaces,
    hub,
    models,
    toolbox: createToolbox(tools),
    system,
    systemTokens: () => (systemTokens ??= count(system)),
    systemFingerprint: systemFingerprint(system, tools),
    settings,
    hooks: createHooks(parts.hooks ?? [], { timeoutMs: 10_000, onError: (where, error) => onProblem({ where, error }) }),
    createRenderers: () => createRenderers(count),
    onEntry,
    onProblem,
  }
  const admission = createAdmission({ store, documents, policy, onProblem })
  const closing = new AbortController()
  const over = new AbortController()
  const conversations = createRunningConversations(async (conversation, start) => {
    if (closing.signal.aborted) throw new Failure('store.closed', 'this agent is closed')
    return startConversation(household, owner, conversation, start)
  })

  function newEvent(kind: InboxEvent['kind'], text: string, { eventId }: Delivery = {}) {
    if (eventId !== undefined) checkEventId(eventId)
    checkText(`the text of a ${kind}`, text)
    return { event_id: eventId ?? clock.randomHex(12), kind, ts: clock.now(), text }
  }
  /** To the turn that is running, else for the next. */
  async function leave(conversation: string, event: NewEvent): Promise<void> {
    await conversations.deliverOrStart(conversation, () => event, { kind: 'told', event })
  }

  /** To the turn that is running, as a followup, else it starts one. */
  const deliver = (
    conversation: string,
    text: string,
    uploads: readonly Upload[],
    options: Delivery & { readonly signal?: AbortSignal } = {},
  ) => {
    checkText('conversation', conversation)
    checkText('input', text)
    return admission.admit(conversation, { text, uploads }, (attachments) => {
      options.signal?.throwIfAborted()
      const input = { text, attachments, ...(options.eventId !== undefined && { eventId: options.eventId }) }
      return conversations.deliverOrStart(conversation, () => followupEvent(input, clock), { kind: 'asked', input })
    })
  }

  /** Between two turns there is none to stop: then it is the next. */
  async function stopFirst(inbox: Inbox): Promise<void> {
    while (!(await inbox.accept(newEvent('steer', ''))) && !inbox.closed) await inbox.untilTurnStarts()
  }

  async function submit({ conversation, input: text, attachments = [], signal }: Submission): Promise<TurnResult> {
    signal?.throwIfAborted()
    const { delivered, releaseBlobs: letGo } = await deliver(conversation, text, attachments, signal && { signal })
    const { running, acceptedEvent: told } = delivered
    const result = told ? running?.results.of(told.event_id) : running?.firstResult
    const stop = () => void (running && stopFirst(running.inbox).catch((error: unknown) => onProblem({ where: 'stop', error })))
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
    try {
      return (await result) as TurnResult // asked without a name, there is always a turn
    } catch (error) {
      await letGo() // when it was not even entered
      throw error
    } finally {
      if (running?.inbox.closed) await running.finished.catch(() => {}) // at rest: who asks next starts a turn, and follows up nothing
      signal?.removeEventListener('abort', stop)
    }
  }

  return {
    run: (submission) => openTurnHandle(submission.conversation, () => submit(submission), hub, store),
    async submit(conversation, text, { attachments = [], eventId = clock.randomHex(12) } = {}) {
      checkEventId(eventId)
      const { delivered, releaseBlobs: letGo } = await deliver(conversation, text, attachments, { eventId })
      const { running, acceptedEvent: told } = delivered
      if (told || !running) await letGo() // under a name that is known nothing was entered
      if (!running) return { how: 'known', turnId: undefined, eventId }
      running.firstResult.catch((error: unknown) => onProblem({ where: 'turn', error }))
      await running.journaled.catch(async (error: unknown) => {
        await letGo()
        throw error
      })
      return told ? { how: 'followup', turnId: running.inbox.currentTurn, eventId } : { how: 'turn', turnId: running.firstTurnId, eventId }
    },
    async steer(conversation, text, { mode = 'redirect', turnId, eventId } = {}) {
      const addressed = turnId === undefined ? {} : { target_turn_id: turnId }
      const event = { ...newEvent('steer', text, eventId === undefined ? {} : { eventId }), payload: { mode }, ...addressed }
      return (await conversations.deliver(conversation, event)) !== undefined
    },
    async followUp(conversation, text, { attachments = [], ...delivery } = {}) {
      if (delivery.eventId !== undefined) checkEventId(delivery.eventId)
      const { delivered, releaseBlobs: letGo } = await deliver(conversation, text, attachments, delivery)
      const { running, acceptedEvent: told } = delivered
      if (told || !running) return letGo() // under a name that is known nothing was entered
      running.firstResult.catch((error: unknown) => {
        onProblem({ where: 'turn', error })
        return letGo()
      })
    },
    async stop(conversation) {
      return (await conversations.deliver(conversation, newEvent('steer', ''))) !== undefined
    },
    async feedback(conversation, { turnId, text = '', eventId, ...payload }) {
      const event = newEvent('feedback', text, eventId === undefined ? {} : { eventId })
      await leave(conversation, { ...event, target_turn_id: turnId, payload })
    },
    async notify(conversation, text, { source, reactive = false, ...delivery } = {}) {
      const payload = { reactive, ...(source !== undefined && { source }) }
      await leave(conversation, { ...newEvent('external', text, delivery), payload })
    },
    get running() {
      return conversations.conversationIds
    },
    archive: createArchive({
      store,
      clock,
      owner,
      hosting: parts.hosting,
      workspaces: parts.workspaces,
      agentParts: parts,
      bookkeeping: parts.bookkeeping ?? noBookkeeping,
      publishEntry: (conversation, event) => hub.publish(conversation, event),
      announceDeleted: (conversation) => hub.announceDeleted(conversation),
      async commitToRunning(conversation, change) {
        const running = await conversations.find(conversation)
        await running?.commit(change)
        return running !== undefined
      },
    }),
    follow: (conversation, options = {}) => follow(conversation, options, hub, store, over.signal),
    recover: () => recoverAll(store, conversations),
    async drain(withinMs) {
      const timer = Promise.withResolvers<void>()
      const timeout = setTimeout(timer.resolve, withinMs)
      const running = Promise.allSettled([...conversations.active].map(async (starting) => (await starting)?.finished))
      await Promise.race([running, timer.promise])
      clearTimeout(timeout)
    },
    async close() {
      closing.abort(new DOMException('The agent is closing.', 'AbortError'))
      const running = await Promise.allSettled(conversations.active)
      const begun = running.flatMap((each) => (each.status === 'fulfilled' && each.value ? [each.value] : []))
      for (const each of begun) each.abort(closing.signal.reason)
      await Promise.allSettled(begun.map((each) => each.finished))
      over.abort()
    },
  }
}
