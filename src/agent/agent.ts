import type { InboxEvent } from '../core/timeline/inbox-event.ts'
import type { Upload } from '../tools/attachments/upload.ts'
import type { Agent } from './agent-interface.ts'
import type { AgentParts } from './agent-parts.ts'
import { createArchive } from './archive/archive.ts'
import { createBudgetControl } from './budgets/budget-control.ts'
import { createAdmission } from './conversation/admission.ts'
import { cancelledError, cancelMessage } from './conversation/cancel-message.ts'
import { createOwner } from './conversation/claim.ts'
import type { NewEvent } from './conversation/inbox.ts'
import { createRunningConversations } from './conversation/running.ts'
import { bookkeepingFor } from './conversation/spending.ts'
import { createWaitingMessages } from './conversation/waiting-messages.ts'
import { createDeletion } from './deletion.ts'
import { follow } from './events/follow.ts'
import { followTurn } from './events/follow-turn.ts'
import { remoteEvents } from './events/relay/on-demand.ts'
import { type FeedHandle, openTurnHandle, type TurnHandle } from './events/turn-handle.ts'
import { untilClosed } from './events/until-closed.ts'
import { checkEventId, checked, checkText, type EventOptions, type RunOptions } from './message.ts'
import { keepUp, recoverAll } from './recovery/recover.ts'
import { aboutAgent, createCurrentParts, type ReplaceParts } from './replaceable-parts.ts'
import { createScheduling, runSchedules } from './schedules.ts'
import { withCallerOutput } from './turn/output.ts'
import type { TurnResult } from './turn/result.ts'
import { type TurnOptions, turnOptions } from './turn/turn-options.ts'
import { createWaitingTurns } from './waiting.ts'
import { createWork, systemTimers } from './work/worker.ts'

export type { AgentParts }

/** Makes an agent from its parts. `onReplaceable` is called with a function that replaces the parts of the agent while it runs. */
export function createAgentFrom(parts: AgentParts, onReplaceable?: (replace: ReplaceParts) => void): Agent {
  const current = createCurrentParts(parts, onReplaceable)
  const { store, clock, hosting, workspaces, documents, bookkeeping = bookkeepingFor(parts.settings?.priceOf) } = parts
  const { hub, onProblem } = current().context
  const owner = createOwner(clock)
  const admission = createAdmission({ store, documents, policy: () => current().parts.attachments ?? {}, onProblem })
  const conversations = createRunningConversations(() => current().context, owner, { acceptOnly: parts.acceptOnly === true })
  const deletion = createDeletion({
    store,
    owner,
    hosting,
    workspaces,
    exclude: conversations.exclude,
    announceDeleted: (conversationId) => hub.announceDeleted(conversationId),
  })
  const { deliverSteer, ...waitingTurns } = createWaitingTurns({
    store,
    clock,
    conversations,
    toolbox: () => current().context.toolbox,
    onProblem,
  })
  const closed = new AbortController()
  const remote = store.relay && remoteEvents(store.relay, hub)
  const upkeep = (isStart: boolean) => keepUp(store, clock, deletion.finish, { isStart })
  const sendScheduled = () =>
    store.schedules ? runSchedules(store.schedules, clock, (error) => onProblem({ where: 'schedules', error })) : () => {}
  const acceptOnly = parts.acceptOnly === true
  const work = createWork({ store, owner, conversations, upkeep, sendScheduled, onProblem, timers: systemTimers, acceptOnly })

  function newEvent(kind: InboxEvent['kind'], text: string, { eventId }: EventOptions = {}) {
    if (eventId !== undefined) checkEventId(eventId)
    checkText(`the text of a ${kind}`, text)
    return { event_id: eventId ?? clock.randomHex(12), kind, ts: clock.now(), text }
  }

  /** Gives the event to the running turn. If no turn is running, the event waits in the journal for the next turn. */
  async function deliverEvent(conversationId: string, event: NewEvent): Promise<void> {
    await conversations.deliverOrStart(conversationId, { kind: 'event', event })
  }

  /** Gives the message to the running turn as a followup. If no turn is running, starts a turn. Attached files are checked first. */
  async function deliverMessage(
    conversationId: string,
    text: string,
    uploads: readonly Upload[],
    { eventId, signal, options }: EventOptions & { readonly signal?: AbortSignal; readonly options?: TurnOptions | undefined } = {},
  ) {
    checkText('conversationId', conversationId)
    checkText('text', text)
    const admitting = admission.admit(conversationId, { text, uploads })
    const { attachments, releaseBlobs, done } = admitting instanceof Promise ? await admitting : admitting
    try {
      signal?.throwIfAborted()
      const input = { text, attachments, ...(eventId !== undefined && { eventId }), ...(options && { options }) }
      return { ...(await conversations.deliverOrStart(conversationId, { kind: 'message', input })), releaseBlobs }
    } catch (error) {
      await releaseBlobs()
      throw error
    } finally {
      done()
    }
  }

  async function runTurn(conversationId: string, text: string, options: RunOptions, feed: FeedHandle): Promise<TurnResult> {
    const { attachments = [], signal, ...choices } = checked.run(options)
    const ofTurn = turnOptions('run', choices, current().context)
    const result = await runMessage(conversationId, text, { attachments, ...(signal && { signal }), ofTurn }, feed)
    return ofTurn?.output ? withCallerOutput(result, ofTurn.stored.output, ofTurn.output) : result
  }

  async function runMessage(
    conversationId: string,
    text: string,
    { attachments = [], signal, ofTurn }: RunOptions & { readonly ofTurn: TurnOptions | undefined },
    feed: FeedHandle,
  ): Promise<TurnResult> {
    signal?.throwIfAborted()
    const { running, acceptedEvent, offered, releaseBlobs } = await deliverMessage(conversationId, text, attachments, {
      ...(signal && { signal }),
      options: ofTurn,
    })
    if (offered) {
      const { priceOf } = current().context.settings
      return followTurn(
        { conversationId, offered, signal, feed },
        { store, clock, hub, remote, agentClosed: closed.signal, priceOf, onProblem },
      )
    }
    const eventId = acceptedEvent?.event_id ?? running?.firstEventId
    const result = eventId === undefined ? running?.firstResult : running?.results.of(eventId)
    const cancelled = Promise.withResolvers<never>()
    const onAbort = () => {
      if (!running) return
      cancelMessage(running.inbox, eventId, clock).then(
        (how) => how !== 'stopped' && cancelled.reject(cancelledError(how, signal?.reason)),
        (error: unknown) => onProblem({ where: 'stop', error }),
      )
    }
    if (signal?.aborted) onAbort()
    else signal?.addEventListener('abort', onAbort, { once: true })
    try {
      // `result` is undefined only if `running` is undefined. This happens only for a message whose event id was used before. `run` passes
      // no event id, so the cast is safe.
      return (await (signal ? Promise.race([result, cancelled.promise]) : result)) as TurnResult
    } catch (error) {
      await releaseBlobs() // removes the uploaded bytes, but keeps blobs to which an entry refers
      throw error
    } finally {
      // If the last turn is about to end, its end is awaited, so that the caller's next message starts a new turn.
      if (running?.inbox.closed) await running.finished.catch(() => {})
      signal?.removeEventListener('abort', onAbort)
    }
  }

  const archive = createArchive({
    store,
    clock,
    owner,
    hosting,
    workspaces,
    agentParts: () => current().parts,
    bookkeeping,
    publishEntry: (conversationId, event) => hub.publish(conversationId, event),
    deletion,
    async commitToRunning(conversationId, change) {
      const running = await conversations.find(conversationId)
      await running?.commit(change)
      return running !== undefined
    },
  })

  return {
    run: (conversationId: string, text: string, options: RunOptions = {}) =>
      // The schema in `options` has checked the output, so it has the type that the signatures of `run` declare.
      openTurnHandle(conversationId, (feed) => runTurn(conversationId, text, options, feed), hub, store) as TurnHandle<never>,
    async send(conversationId, text, options = {}) {
      const { attachments = [], eventId = clock.randomHex(12), ...choices } = checked.send(options)
      checkEventId(eventId)
      const { running, acceptedEvent, offered, known, releaseBlobs } = await deliverMessage(conversationId, text, attachments, {
        eventId,
        options: turnOptions('send', choices, current().context),
      })
      // If the event id was used before, this message is not in the journal, and its blobs are removed. `releaseBlobs` keeps the blobs of a
      // followup that was just accepted, because an entry refers to them.
      if (acceptedEvent || !running) await releaseBlobs()
      if (offered && !known) return { how: 'followup', turnId: offered.openTurn ?? undefined, eventId }
      if (!running) return { how: 'known', turnId: undefined, eventId }
      running.firstResult.catch((error: unknown) => onProblem({ where: 'turn', error }))
      await running.journaled.catch(async (error: unknown) => {
        await releaseBlobs()
        throw error
      })
      if (known) return { how: 'known', turnId: undefined, eventId }
      return acceptedEvent
        ? { how: 'followup', turnId: running.inbox.currentTurn, eventId }
        : { how: 'turn', turnId: running.firstTurnId, eventId }
    },
    async steer(conversationId, text, options = {}) {
      const { mode = 'redirect', turnId, eventId } = checked.steer(options)
      const target = turnId === undefined ? {} : { target_turn_id: turnId }
      const event = { ...newEvent('steer', text, eventId === undefined ? {} : { eventId }), payload: { mode }, ...target }
      const accepted = await deliverSteer(conversationId, event)
      return accepted === 'known' ? 'known' : accepted !== false
    },
    async stop(conversationId) {
      return (await deliverSteer(conversationId, newEvent('steer', ''))) !== false
    },
    async feedback(conversationId, text, options) {
      const { turnId, eventId, ...payload } = checked.feedback(options)
      const event = newEvent('feedback', text, eventId === undefined ? {} : { eventId })
      await deliverEvent(conversationId, { ...event, target_turn_id: turnId, payload })
    },
    async notify(conversationId, text, options = {}) {
      const { source, reactive = false, ...delivery } = checked.notify(options)
      const payload = { reactive, ...(source !== undefined && { source }) }
      await deliverEvent(conversationId, { ...newEvent('external', text, delivery), payload })
    },
    get about() {
      return aboutAgent(current())
    },
    get running() {
      return conversations.conversationIds
    },
    slowCommits: conversations.slowCommits,
    ...waitingTurns,
    ...createWaitingMessages({ store, clock, conversations }),
    archive,
    budgets: createBudgetControl({
      budgets: store.budgets,
      watch: { hasBudgets: () => current().context.budgetWatch.hasBudgets(), forget: () => current().context.budgetWatch.forget() },
      settings: () => current().context.settings,
    }),
    untilClosed: (conversationId, eventId, options = {}) =>
      untilClosed(conversationId, eventId, checked.untilClosed(options), {
        store,
        hub,
        agentClosed: closed.signal,
        turnResult: archive.turnResult,
      }),
    follow: (conversationId, options = {}) => follow(conversationId, checked.follow(options), hub, store, closed.signal, remote),
    recover: async (options = {}) => recoverAll(store, conversations, clock, checked.recover(options), deletion.finish),
    ...createScheduling({ store, clock, owner }),
    work: (options = {}) => work.start(checked.work(options)),
    async drain(withinMs, options = {}) {
      const checkedOptions = checked.drain({ withinMs, ...options })
      await conversations.drain(checkedOptions.withinMs, checkedOptions.handOver)
    },
    async close() {
      work.end()
      await conversations.close()
      closed.abort()
      await remote?.close()
    },
  }
}
