import { type Client, emptyView, foldEvent, RequestRefused } from 'daybook/client'
import { type TourStep, tourSteps } from './tour-steps.ts'

/** The progress of the tour. Undefined when no tour runs. */
export type TourState =
  | {
      readonly conversationId: string
      readonly step: TourStep
      readonly number: number
      readonly ended: boolean
      readonly problem?: string
    }
  | undefined

/** How long a person has to read an answer before the next message is sent. */
const readingMs = 3_000
/** How long a person has to decide about a call before the tour approves it. */
const decidingMs = 8_000

const steps = tourSteps()
export const tourLength = steps.length

let state: TourState
let running = new AbortController()
const listeners = new Set<() => void>()

function change(next: TourState): void {
  state = next
  for (const listener of listeners) listener()
}

export const tour = {
  subscribe(listener: () => void): () => void {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  },
  get: () => state,
}

export function endTour(): void {
  running.abort()
  change(undefined)
}

/**
 * Creates a conversation and plays the tour in it. Resolves with its id when the first message is stored. The tour then continues by
 * itself.
 */
export async function startTour(client: Client): Promise<string> {
  running.abort()
  running = new AbortController()
  const { signal } = running
  const { id } = await client.conversations.create()
  await play(client, id, 0)
  void playRest(client, id, signal)
  return id
}

async function playRest(client: Client, id: string, signal: AbortSignal): Promise<void> {
  try {
    for (const index of steps.keys()) {
      if (index > 0) {
        await new Promise((resolve) => setTimeout(resolve, readingMs))
        if (signal.aborted) return
        await play(client, id, index)
      }
      await untilAnswered(client, id, signal)
      if (signal.aborted) return
    }
    if (state) change({ ...state, ended: true })
  } catch (error) {
    if (!signal.aborted && state) change({ ...state, ended: true, problem: error instanceof Error ? error.message : String(error) })
  }
}

async function play(client: Client, conversationId: string, index: number): Promise<void> {
  const step = steps[index]
  if (!step) return
  const { message, files = [], ask, steer } = step
  change({ conversationId, step, number: index + 1, ended: false })
  await client.send(conversationId, message, {
    files: files.map(({ name, content }) => ({ name, content: new Blob([content]) })),
    idempotencyKey: `tour-${conversationId}-${index}`,
    ...(ask && { options: { ask: [...ask] } }),
  })
  if (steer !== undefined)
    await client.send(conversationId, steer, { mode: 'steer', idempotencyKey: `tour-${conversationId}-${index}-steer` })
}

/** Resolves when no turn runs and no message waits. Approves a call that waits for too long. */
async function untilAnswered(client: Client, id: string, signal: AbortSignal): Promise<void> {
  const { last_seq: stored } = await client.conversations.get(id)
  const done = new AbortController()
  const either = AbortSignal.any([signal, done.signal])
  const seen = new Set<string>()
  let view = emptyView
  for await (const event of client.follow(id, { signal: either })) {
    view = foldEvent(view, event)
    const last = view.turns.at(-1)
    for (const { call_id: callId } of last?.waits ?? []) {
      if (callId === undefined || seen.has(callId)) continue
      seen.add(callId)
      void approveLater(client, id, callId, either)
    }
    if (view.lastSeq >= stored && view.waiting.length === 0 && last?.endedAt !== undefined) done.abort()
  }
}

async function approveLater(client: Client, id: string, callId: string, signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, decidingMs))
  if (signal.aborted) return
  try {
    await client.decide(id, callId, { approved: true })
  } catch (error) {
    if (!(error instanceof RequestRefused)) throw error // the server refuses if the person has already decided about the call
  }
}
