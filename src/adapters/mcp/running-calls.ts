import type { McpCall, McpQuestion, McpReply } from '../../ports/mcp.ts'
import { createCallTimer } from './call-timer.ts'

/** The calls that run on one server. The server may ask a question during a call, but does not say which call the question belongs to. */
export interface RunningCalls {
  add(request: McpCall, seconds: number): RunningCall
  /** Asks a person, if all running calls belong to one conversation. Otherwise it is not certain which conversation the question is for. */
  ask(question: McpQuestion, signal: AbortSignal): Promise<McpReply>
}

/** A call that runs. */
export interface RunningCall {
  /** Fires when the call is cancelled, and when its time is over. */
  readonly signal: AbortSignal
  readonly hasExpired: boolean
  /** Called when the call has ended. Withdraws its questions, and resolves when that is done. */
  end(): Promise<void>
}

/** How many questions a server may ask in one call. Further questions reach no person, because each adds entries to the journal. */
const MAX_QUESTIONS = 50

interface Entry {
  readonly request: McpCall
  readonly timer: ReturnType<typeof createCallTimer>
  readonly ended: AbortController
  readonly open: Set<Promise<McpReply>>
  asked: number
}

export function createRunningCalls(onProblem: (error: Error) => void): RunningCalls {
  const entries = new Set<Entry>()

  async function askIn({ request, timer, ended }: Entry, question: McpQuestion, signal: AbortSignal): Promise<McpReply> {
    timer.pause()
    try {
      return (await request.ask?.(question, AbortSignal.any([signal, timer.signal, ended.signal]))) ?? { action: 'cancel' }
    } catch (error) {
      onProblem(error instanceof Error ? error : new Error(String(error)))
      return { action: 'cancel' }
    } finally {
      timer.go()
    }
  }

  return {
    add(request, seconds) {
      const timer = createCallTimer(request.signal, seconds * 1000)
      const entry: Entry = { request, timer, ended: new AbortController(), open: new Set(), asked: 0 }
      entries.add(entry)
      return {
        signal: timer.signal,
        get hasExpired() {
          return timer.hasExpired
        },
        async end() {
          entries.delete(entry)
          entry.ended.abort()
          await Promise.allSettled(entry.open)
          timer.end()
        },
      }
    },
    async ask(question, signal) {
      const all = [...entries]
      const entry = all.at(-1)
      const isCertain = all.every(({ request }) => request.conversationId === entry?.request.conversationId)
      if (!entry || !isCertain || ++entry.asked > MAX_QUESTIONS) return { action: 'cancel' }
      const asking = askIn(entry, question, signal)
      entry.open.add(asking)
      const reply = await asking
      entry.open.delete(asking)
      return reply
    },
  }
}
