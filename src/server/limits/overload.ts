import { RequestProblem } from '../problem.ts'

/** Refuses new messages while the server can not store them in time. */
export interface OverloadGuard {
  /**
   * Call it when a message arrives. Throws a problem with status 503 while the server has too much to do. Call the returned function when
   * the message is stored or rejected. Messages with files are not measured, because they also wait until their files are checked.
   */
  enter(hasFiles: boolean): () => void
}

interface OverloadLimits {
  /** How many messages may wait at the same time until they are stored. */
  readonly waitingMessages: number
  /**
   * While a message waits longer than this number of milliseconds, new messages are refused. They are also refused while running turns wait
   * three times as long to store an entry.
   */
  readonly messageWaitMs: number
}

interface OverloadParts {
  nowMs(): number
  /** How many entries of running turns have waited to be stored for longer than `ms` milliseconds. */
  slowCommits(ms: number): number
}

/**
 * If fewer messages and entries than this wait too long, no message is refused. In this case only the disk is slow, and the server has
 * little to do.
 */
const FEW = 8

/** The longest time after which a client is told to try again. If clients waited longer, the server might become idle. */
const MAX_RETRY_SECONDS = 5

/** An entry of a running turn may wait this many times as long as a message, because no client waits for a response to the entry. */
const TURN_WAIT = 3

/**
 * Creates a guard that measures how long messages and entries of running turns wait until they are stored. These waits grow with everything
 * that the server does, and with the load of the machine. A store may write messages before the entries of turns. So messages can be stored
 * in a short time even if the server already runs more turns than it can handle. Because of this, the entries of turns are measured as
 * well.
 */
export function createOverloadGuard(
  { waitingMessages, messageWaitMs }: OverloadLimits,
  { nowMs, slowCommits }: OverloadParts,
): OverloadGuard {
  const waiting = new Map<object, number>() // the times at which the waiting messages arrived, oldest first
  const stored = countPerSecond(nowMs)
  const refused = countPerSecond(nowMs)

  function isOverloaded(): boolean {
    if (waiting.size >= waitingMessages) return true
    const [oldest] = waiting.values()
    if (waiting.size >= FEW && oldest !== undefined && nowMs() - oldest > messageWaitMs) return true
    return slowCommits(TURN_WAIT * messageWaitMs) >= FEW
  }

  return {
    enter(hasFiles) {
      if (isOverloaded()) {
        refused.add()
        // The client should wait as long as the server needs to store the messages that it has refused lately.
        throw overloaded(Math.min(Math.ceil(refused.recent() / Math.max(1, stored.recent())), MAX_RETRY_SECONDS))
      }
      const ticket = {}
      if (!hasFiles) waiting.set(ticket, nowMs())
      return () => {
        if (waiting.delete(ticket)) stored.add()
      }
    },
  }
}

const overloaded = (seconds: number) =>
  new RequestProblem(503, 'server.overloaded', 'The server has too much to do at the moment; send the message again soon.', {
    headers: { 'retry-after': String(seconds) },
  })

/** Counts events. `recent` is the number of events in the current second or in the previous second, whichever is larger. */
function countPerSecond(nowMs: () => number) {
  let second = 0
  let count = 0
  let before = 0
  function advance(): void {
    const current = Math.floor(nowMs() / 1000)
    if (current === second) return
    before = current === second + 1 ? count : 0
    count = 0
    second = current
  }
  return {
    add(): void {
      advance()
      count++
    },
    recent(): number {
      advance()
      return Math.max(count, before)
    },
  }
}
