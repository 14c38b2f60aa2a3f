/**
 * A process that `daybook torture` starts, kills and freezes. The first message of its parent contains the place of the store, the task and
 * a name. They are not passed as arguments, because the address of a database may contain a password, and other users can see arguments in
 * the process list. The child sends `ready` when its store is open, and begins its task when the parent answers. It ends when its parent
 * ends.
 */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { createAgentFrom } from '../../agent/agent.ts'
import type { Agent } from '../../agent/agent-interface.ts'
import { errorMessage } from '../../core/failure.ts'
import { heldStore } from './held-store.ts'
import { longTurnModel, longTurnTools, settings, type TurnObserver } from './long-turn.ts'
import { openPlace, type TorturePlace } from './place.ts'
import { hashOf, notingStore, openNotes } from './records.ts'
import { appendGroups, claimAll, offerAll, takeOffers } from './store-tasks.ts'
import type { ChildMessage, ParentMessage, Task, TaskResult } from './tasks.ts'

process.once('disconnect', () => process.exit(0))
const [{ place, task, name }] = (await once(process, 'message')) as [
  { readonly place: TorturePlace; readonly task: Task; readonly name: string },
]
const tell = (message: ChildMessage) => {
  if (process.connected) process.send?.(message, undefined, undefined, () => {})
}

const note = openNotes(place.records)
const opened = await openPlace(place)
const { clock } = opened
const holds = task.do === 'turns' ? task.holds : task.do === 'take' && task.hold ? { [task.conversationId]: task.hold } : undefined
const held = heldStore(notingStore(opened.store, name, note), holds ?? {}, () => tell({ say: 'held' }))
const { store } = held
let isEnding = false

process.on('message', (message: ParentMessage) => {
  if (message === 'go on') held.goOn()
  else if (message === 'end') void end()
  else
    void work().then(
      (result) => tell({ say: 'done', result }),
      (error: unknown) => tell({ say: 'done', result: { errors: [errorMessage(error)] } }),
    )
})
tell({ say: 'ready' })

async function end(): Promise<void> {
  isEnding = true
  await agent?.close()
  await store.close()
  process.exit(0)
}

let agent: Agent | undefined

/** An agent whose model and tools write notes about what they do. */
function createAgent(rounds: number, stepMs: number): Agent {
  const observer: TurnObserver = {
    onDecision(iteration, conversationId, request) {
      const parts = request?.parts ?? []
      const marks = parts.flatMap(({ cache }, index) => (cache ? [index] : []))
      const cached = parts.slice(0, (marks.at(-1) ?? -1) + 1)
      const text = cached.map((part) => (part.type === 'text' ? part.text : '')).join('')
      note({ note: 'asked', conversationId, iteration, cached: text, process: name })
    },
    onEffect() {},
    async onStep() {
      tell({ say: 'step' })
      if (stepMs > 0) await sleep(stepMs)
    },
  }
  const tools = longTurnTools(observer, ({ conversationId, toolId, origin: { iteration, callId } }) =>
    note({ note: 'effect', conversationId, toolId, iteration, callId }),
  )
  return createAgentFrom({ model: longTurnModel(observer, rounds), tools, store, clock, settings })
}

async function work(): Promise<TaskResult> {
  if (task.do === 'turns') return runTurns(task)
  if (task.do === 'write') return appendGroups(store, clock, task, () => tell({ say: 'step' }))
  if (task.do === 'claim') return claimAll(store, clock, task)
  if (task.do === 'offer') return offerAll(store, clock, task, () => tell({ say: 'step' }))
  if (task.do === 'take')
    return takeOffers(store, clock, task.conversationId, { onTaken: () => tell({ say: 'step' }), isOver: () => isEnding })
  if (task.do === 'follow') return followAll(task)
  agent = createAgent(task.rounds, task.stepMs)
  if (task.do === 'send') return sendAll(agent, task)
  const { skipped } = await agent.recover()
  return { skipped: skipped.map(({ conversationId }) => conversationId) }
}

/** Runs the turns. A process that was frozen and woken also tries to renew the leases that it had. */
async function runTurns({ conversations, rounds, stepMs }: Extract<Task, { do: 'turns' }>): Promise<TaskResult> {
  const running = createAgent(rounds, stepMs)
  agent = running
  const results = await Promise.allSettled(conversations.map((id) => running.run(id, 'Go shopping.').result))
  const renewals = await Promise.allSettled(held.claims().map((claim) => store.renew(claim)))
  const errors = [...results, ...renewals].flatMap((result) => (result.status === 'rejected' ? [errorMessage(result.reason)] : []))
  return { errors }
}

async function sendAll(running: Agent, { messages }: Extract<Task, { do: 'send' }>): Promise<TaskResult> {
  const errors: string[] = []
  const byConversation = Map.groupBy(messages, ({ conversationId }) => conversationId)
  await Promise.all(
    [...byConversation].map(async ([conversationId, list]) => {
      for (const { eventId } of list) {
        try {
          await running.send(conversationId, 'Go shopping.', { eventId })
          note({ note: 'accepted', conversationId, eventId })
        } catch (error) {
          errors.push(errorMessage(error))
        }
      }
    }),
  )
  return { errors }
}

async function followAll({ follower, after }: Extract<Task, { do: 'follow' }>): Promise<TaskResult> {
  const running = createAgent(1, 0)
  agent = running
  await Promise.all(
    Object.entries(after).map(async ([conversationId, last]) => {
      for await (const event of running.follow(conversationId, { after: last })) {
        if (event.type !== 'entry') continue
        note({ note: 'seen', follower, conversationId, seq: event.seq, hash: hashOf(event.change) })
        tell({ say: 'step' })
      }
    }),
  )
  return {}
}
