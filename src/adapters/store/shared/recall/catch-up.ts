import { setImmediate as pause } from 'node:timers/promises'
import { Failure } from '../../../../core/failure.ts'
import type { Change } from '../../../../core/timeline/change.ts'
import type { MemoryIndex, MemoryScope } from '../../../../ports/store/memory-index.ts'
import type { Entry, JournalRange } from '../../../../ports/store.ts'
import type { Answer } from './steps.ts'
import { analyseEntry, type IndexedEntry } from './write.ts'

/** How many entries one step indexes. The entries may belong to several conversations. */
const ENTRIES_PER_STEP = 128
/** How long after the end of a turn its texts are indexed. Other turns that end in this time are indexed together with this turn. */
const DELAY_MS = 1_000
/**
 * After this number of lost connections, the rest of a page is left out. Each attempt waits for the database server for up to 30 seconds.
 * One error is not enough: a time-out of the server also counts as a lost connection, and may concern only one conversation.
 */
const MAX_LOST = 2

/** The position up to which a conversation is indexed. */
export interface Position {
  readonly key: number
  /** The `seq` of the last entry that is indexed. */
  readonly indexed: number
  readonly last: number
}

/** Entries of a conversation that are indexed together. */
export interface IndexStep<P extends Position> {
  readonly id: string
  readonly start: P
  readonly entries: readonly IndexedEntry[]
  /** The position after this step. */
  readonly end: number
}

interface CatchUpParts<P extends Position> {
  /** The ids of the conversations that are behind, in pages. */
  findBehind(within: MemoryScope | undefined): AsyncIterable<readonly string[]> | Iterable<readonly string[]>
  /** The position of a conversation. Undefined when it does not exist or its deletion has begun. */
  positionOf(conversationId: string): Answer<P | undefined>
  /** The entries of a journal, except those of the type `leftOut`. */
  journal(conversationId: string, range: JournalRange, leftOut: Change['type']): AsyncIterable<Entry>
  /**
   * Adds the entries of steps to the index. A step is left out if the position of its conversation is no longer the start of the step,
   * because another process has indexed meanwhile.
   */
  write(steps: readonly IndexStep<P>[]): Promise<void>
}

/** Indexes conversations that are behind: when it is called, and some time after the end of each turn. */
export function createCatchUp<P extends Position>({ findBehind, positionOf, journal, write }: CatchUpParts<P>) {
  /**
   * Reads entries of a conversation that is behind, at most `limit`, and analyses them. Undefined when the conversation is indexed up to
   * its goal. The entries are read before the transaction begins, because large texts are in blobs, and reading them takes time.
   */
  async function readStep(id: string, goals: Map<string, number>, limit: number): Promise<IndexStep<P> | undefined> {
    const start = await positionOf(id)
    if (!start) return undefined
    // a conversation that was deleted and created again may have fewer entries than its goal
    const goal = Math.min(goals.get(id) ?? start.last, start.last)
    goals.set(id, goal)
    if (start.indexed >= goal) return undefined
    const entries: IndexedEntry[] = []
    // responses are left out: they are long, and their texts are in other entries too
    for await (const { seq, change } of journal(id, { after: start.indexed, limit, passNewer: true }, 'response.received')) {
      if (seq > goal) break
      entries.push(analyseEntry(seq, change))
    }
    const last = entries.at(-1)?.seq ?? goal
    return { id, start, entries, end: entries.length < limit ? goal : last }
  }

  /** Reads steps of the first conversations of `ids`, with at most `ENTRIES_PER_STEP` entries together. */
  async function readSteps(
    ids: Set<string>,
    goals: Map<string, number>,
    signal: AbortSignal | undefined,
    leaveOut: (id: string, error: unknown) => void,
  ): Promise<readonly IndexStep<P>[]> {
    const steps: IndexStep<P>[] = []
    let room = ENTRIES_PER_STEP
    for (const id of ids) {
      if (room <= 0 || signal?.aborted) break
      try {
        const step = await readStep(id, goals, room)
        if (!step) ids.delete(id)
        else {
          steps.push(step)
          room -= step.entries.length
        }
      } catch (error) {
        leaveOut(id, error)
      }
    }
    return steps
  }

  /**
   * Indexes the entries that conversations have now. Entries that are appended meanwhile are indexed the next time. Otherwise indexing
   * would follow each append of a running turn. If conversations have only few new entries, several conversations share a step. If a
   * conversation can not be read, the others are still indexed, unless the database can not be reached.
   */
  async function indexAll(ids: readonly string[], signal: AbortSignal | undefined, onError: (error: unknown) => void): Promise<void> {
    const left = new Set(ids)
    const goals = new Map<string, number>()
    let lost = 0
    const leaveOut = (id: string, error: unknown) => {
      left.delete(id)
      if (isLost(error) && ++lost === MAX_LOST) left.clear()
      onError(error)
    }
    while (left.size > 0 && !signal?.aborted) {
      const steps = await readSteps(left, goals, signal, leaveOut)
      if (steps.length > 0)
        await write(steps).catch(async () => {
          for (const step of steps) {
            if (signal?.aborted || !left.has(step.id)) break
            await write([step]).catch((error) => leaveOut(step.id, error))
          }
        })
      await pause()
    }
  }

  async function catchUp({ within, signal }: { readonly within?: MemoryScope; readonly signal?: AbortSignal } = {}): Promise<number> {
    const errors: unknown[] = []
    let count = 0
    for await (const ids of findBehind(within)) {
      if (signal?.aborted) break
      await indexAll(ids, signal, (error) => errors.push(error))
      count += ids.length
    }
    if (errors.length > 0) throw errors[0]
    return count
  }

  // an error is ignored here, because the next search indexes the same entries, and reports the error
  const background = createBackground((ids, signal) => indexAll(ids, signal, () => {}))

  return {
    catchUp: catchUp satisfies MemoryIndex['catchUp'],
    /** Indexes the entries of a conversation soon, if one of the changes ends a turn. */
    noteAppended(conversationId: string, changes: readonly Change[]): void {
      if (changes.some(({ type }) => type === 'turn.closed')) background.add(conversationId)
    },
    /** Waits for running work, and starts no further work. */
    close: background.close,
  }
}

const isLost = (error: unknown): boolean => error instanceof Failure && error.details.connectionLost === true

/** Runs `work` for the conversations that were added, some time after the first of them. */
function createBackground(work: (ids: readonly string[], signal: AbortSignal) => Promise<void>) {
  const ending = new AbortController()
  let waiting = new Set<string>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let running: Promise<void> = Promise.resolve()

  async function run(): Promise<void> {
    const ids = [...waiting]
    waiting = new Set()
    await work(ids, ending.signal)
    timer = undefined
    if (waiting.size > 0) start()
  }

  function start(): void {
    if (timer !== undefined || ending.signal.aborted) return
    timer = setTimeout(() => {
      running = run()
    }, DELAY_MS).unref() // the index alone does not keep the process running
  }

  return {
    add(id: string): void {
      waiting.add(id)
      start()
    },
    close(): Promise<void> {
      ending.abort()
      clearTimeout(timer)
      return running
    },
  }
}
