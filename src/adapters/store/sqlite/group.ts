/**
 * Runs a function that writes to the database. Its transaction may contain the writes of other callers too. With `first`, it runs before
 * the waiting writes that were called without `first`.
 */
export type WriteTogether = <T>(work: () => T, urgency?: 'first') => Promise<T>

/** The functions of the database that groups use. */
interface GroupParts {
  /** Runs `work` in a transaction of its own, when no other transaction runs. */
  transaction<T>(work: () => T): Promise<T>
  /**
   * Runs `work` inside a transaction. If it throws, undoes what it has written, and throws the error. If the whole transaction can not
   * continue after the error, throws a `BrokenTransaction`.
   */
  nested<T>(work: () => T): T
}

/** An error after which nothing of a transaction can be committed. */
export class BrokenTransaction extends Error {}

/** The maximum number of writes in one transaction. The event loop is blocked while they run. */
const MAX_GROUP = 64

/** The minimum number of writes without `first` in a group, if so many wait. Without this minimum, they could wait forever. */
const MIN_OTHERS = 16

/** How many groups of one write may run in one turn of the event loop. */
const MAX_SINGLES = 8

/**
 * For how many writes of a group the promises settle in one turn of the event loop. With a lower number, the next group would also be
 * smaller, and commits would be more frequent.
 */
const SETTLED_PER_TURN = 16

/**
 * Collects writes and runs them in groups: the writes of a group share one transaction, and therefore also its cost, which is mainly the
 * time of waiting for the disk.
 *
 *   calls      a   b c d        e f …
 *   commits    [a] [b c d]      [e f …]
 *
 * The writes of a group run in the order of the calls, but those with `first` run before the others. If one throws, only its own promise
 * rejects. If the transaction fails, the promises of all writes of the group reject, and nothing of them is stored. All promises settle
 * after the commit. If no other write waits, a write runs immediately. After a group of several writes, their promises settle in several
 * turns of the event loop, and then the next group runs. In the meantime more writes arrive, and other work of the process can run. This
 * matters most for new connections, because Node accepts few of them in each turn of the event loop.
 */
export function createWriteGroups({ transaction, nested }: GroupParts): WriteTogether {
  const first: Write[] = []
  const others: Write[] = []
  let scheduled = false
  let lastSize = 0
  let groupsInTurn = 0

  const endTurn = () => {
    groupsInTurn = 0
  }

  function schedule(): void {
    if (scheduled || first.length + others.length === 0) return
    scheduled = true
    if (lastSize <= 1 && groupsInTurn < MAX_SINGLES) void run()
    else setImmediate(run)
  }

  async function run(): Promise<void> {
    if (groupsInTurn === 0) setImmediate(endTurn)
    groupsInTurn++
    let group: readonly Write[] = []
    try {
      await transaction(() => {
        group = takeGroup() // taken inside the transaction, so that it includes the writes that arrived while another process held the lock
        const [only] = group
        if (group.length === 1) only?.run()
        else for (const write of group) write.attempt(nested)
      })
    } catch (error) {
      if (group.length === 0) group = takeGroup() // the transaction could not begin
      for (const write of group) write.fail(error)
    }
    for (const [index, write] of group.entries()) {
      if (index > 0 && index % SETTLED_PER_TURN === 0) await nextTurn()
      write.settle()
    }
    lastSize = group.length
    scheduled = false
    schedule()
  }

  function takeGroup(): readonly Write[] {
    const placesOfOthers = Math.max(MAX_GROUP - first.length, Math.min(MIN_OTHERS, others.length))
    return [...first.splice(0, MAX_GROUP - placesOfOthers), ...others.splice(0, placesOfOthers)]
  }

  return (work, urgency) =>
    new Promise((resolve, reject) => {
      const queue = urgency === 'first' ? first : others
      queue.push(createWrite(work, resolve, reject))
      schedule()
    })
}

/** A write that waits for its turn, and then for the end of its transaction. */
interface Write {
  /** Runs the write alone in the transaction. If it throws, the transaction is rolled back. */
  run(): void
  /** Runs the write among others. Its error is kept until `settle`. */
  attempt(nested: GroupParts['nested']): void
  /** Stores that the transaction has failed, with its error. */
  fail(error: unknown): void
  /** Settles the promise of the caller. Called when the transaction has ended. */
  settle(): void
}

const nextTurn = () => new Promise<void>((resolve) => void setImmediate(resolve))

function createWrite<T>(work: () => T, resolve: (value: T) => void, reject: (error: unknown) => void): Write {
  let settle = () => {}
  return {
    run() {
      const value = work()
      settle = () => resolve(value)
    },
    attempt(nested) {
      try {
        const value = nested(work)
        settle = () => resolve(value)
      } catch (error) {
        if (error instanceof BrokenTransaction) throw error.cause
        settle = () => reject(error)
      }
    },
    fail(error) {
      settle = () => reject(error)
    },
    settle: () => settle(),
  }
}
