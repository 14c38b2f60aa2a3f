import {
  type ChannelSubscribers,
  type Delta,
  type Emit,
  StreamPolicyViolation,
  type StreamProblem,
  type Subscriber,
} from './stream-with-channels/types.ts'

/** Everyone who listens to a stream. None of them can harm another, or the stream; a StreamPolicyViolation is thrown on. */
export interface StreamListeners {
  /** The client's view. After three failures in a row nobody is there any more, and the stream goes on without them. */
  show(delta: Delta): Promise<void>
  /** The channel's subscribers, one after another. */
  notify(delta: Delta): Promise<void>
  /** An instance opens: subscribers that are made for each instance are made now. */
  open(channel: string, instance: number): Promise<void>
  /** Runs anything that may fail without harm. False when it did. */
  attempt(where: StreamProblem['where'], channel: string | undefined, action: () => unknown): Promise<boolean>
  report(where: StreamProblem['where'], channel: string | undefined, error: unknown): void
  readonly problems: readonly StreamProblem[]
}

const maxEmitFailures = 3
const maxProblems = 20

export function createListeners(emit: Emit, subscribers: ChannelSubscribers): StreamListeners {
  const listening = new Map<string, readonly Subscriber[]>()
  const problems: StreamProblem[] = []
  let emitFailures = 0

  async function attempt(where: StreamProblem['where'], channel: string | undefined, action: () => unknown): Promise<boolean> {
    try {
      await action()
      return true
    } catch (error) {
      if (error instanceof StreamPolicyViolation) throw error
      report(where, channel, error)
      return false
    }
  }

  function report(where: StreamProblem['where'], channel: string | undefined, error: unknown): void {
    if (problems.length < maxProblems) problems.push({ where, ...(channel !== undefined && { channel }), error })
  }

  return {
    attempt,
    report,
    problems,
    async show(delta) {
      if (emitFailures >= maxEmitFailures) return
      emitFailures = (await attempt('emit', delta.channel, () => emit(delta))) ? 0 : emitFailures + 1
    },
    async notify(delta) {
      for (const subscriber of listening.get(delta.channel) ?? []) await attempt('subscriber', delta.channel, () => subscriber(delta))
    },
    async open(channel, instance) {
      const made: Subscriber[] = []
      for (const subscriber of Object.hasOwn(subscribers, channel) ? (subscribers[channel] ?? []) : []) {
        if (typeof subscriber === 'function') made.push(subscriber)
        else await attempt('subscriber', channel, () => made.push(subscriber.forInstance(instance)))
      }
      listening.set(channel, made)
    },
  }
}
