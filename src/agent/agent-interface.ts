import type { TurnEvent } from '../core/event.ts'
import type { OutputOf, StandardSchemaV1 } from '../core/standard-schema.ts'
import type { Archive } from './archive/archive.ts'
import type { StoredResult } from './archive/stored-result.ts'
import type { BudgetControl } from './budgets/budget-control.ts'
import type { WaitingMessages } from './conversation/waiting-messages.ts'
import type { FollowOptions } from './events/follow.ts'
import type { TurnHandle } from './events/turn-handle.ts'
import type { UntilClosedOptions } from './events/until-closed.ts'
import type { Accepted, FeedbackOptions, NotifyOptions, RunOptions, SendOptions, SteerOptions } from './message.ts'
import type { RecoverOptions, Recovery } from './recovery/recover.ts'
import type { AgentAbout } from './replaceable-parts.ts'
import type { Scheduling } from './schedules.ts'
import type { WaitingTurns } from './waiting.ts'
import type { WorkOptions } from './work/worker.ts'

/** An agent. It has any number of conversations. Each conversation has at most one running turn. */
export interface Agent extends WaitingTurns, WaitingMessages, Scheduling {
  /** Starts a turn. If a turn of this conversation is already running, the message becomes a followup of that turn. */
  run<Schema extends StandardSchemaV1>(
    conversationId: string,
    text: string,
    options: RunOptions & { readonly output: Schema },
  ): TurnHandle<OutputOf<Schema>>
  run(conversationId: string, text: string, options?: RunOptions): TurnHandle
  /**
   * Sends a message without waiting for the answer. The message starts a turn or becomes a followup, as with `run`. Resolves when the
   * message is in the journal. From then on the message can not be lost.
   */
  send(conversationId: string, text: string, options?: SendOptions): Promise<Accepted>
  /**
   * Interrupts the running turn. `mode` says whether the turn then changes direction or wraps up. With an empty text, the turn stops.
   * Resolves with false when no turn is running, and with `known` when an event with this `eventId` was accepted before.
   */
  steer(conversationId: string, text: string, options?: SteerOptions): Promise<boolean | 'known'>
  /**
   * Stops the running turn. If users have seen a part of its answer, this part becomes the answer. If they have seen nothing, the answer is
   * a fixed text. All blocks and files of the turn are kept. Returns false when no turn is running.
   */
  stop(conversationId: string): Promise<boolean>
  /** Stores feedback about an earlier turn. The announce of the next turn shows it to the model. */
  feedback(conversationId: string, text: string, options: FeedbackOptions): Promise<void>
  /**
   * Delivers an event from outside the conversation, such as a service alert. The running turn reads the event. If no turn is running, the
   * event waits for the next turn.
   */
  notify(conversationId: string, text: string, options?: NotifyOptions): Promise<void>
  /**
   * Waits until the turn that has read a message is closed, in whichever process it runs, and returns its result. It changes nothing, so it
   * can be called any number of times, even after the end of the turn. `eventId` is the id that was sent with the message. Throws
   * `message.missing` if there is no such message, and `message.withdrawn` if it was withdrawn.
   */
  untilClosed(conversationId: string, eventId: string, options?: UntilClosedOptions): Promise<StoredResult>
  /** Yields the stored entries of a conversation, then its events as they happen. */
  follow(conversationId: string, options?: FollowOptions): AsyncIterable<TurnEvent>
  /** What callers can choose, such as models, and the limits of attachments. */
  readonly about: AgentAbout
  /** Ids of the conversations that have a running turn in this process. */
  readonly running: Iterable<string>
  /**
   * How many commits of running conversations have waited for the store for longer than `ms` milliseconds. If there are several such
   * commits, the process is overloaded or its disk is slow. Servers then refuse messages.
   */
  slowCommits(ms: number): number
  /** Reads and limits the budgets that conversations share, in all processes with the same store. */
  readonly budgets: BudgetControl
  /** Lists, renames, forks, exports and deletes conversations. */
  readonly archive: Archive
  /**
   * Finishes deletions that failed, resumes every unfinished turn, and starts a turn for every waiting followup. Resolves when these turns
   * have ended. Skips a conversation while another agent has its claim. That agent may still be running. Or its process is dead, but this
   * can not be proven, for example because its container was replaced. The result lists the skipped conversations with the time at which to
   * try again.
   */
  recover(options?: RecoverOptions): Promise<Recovery>
  /**
   * Takes conversations with work from the store and runs them, until the returned function is called. Work is a message that any process
   * has stored, or a turn that a dead process left unfinished. The function also sends scheduled messages. Any number of agents can share
   * the work of a store. Servers call this function. When the returned function is called, conversations that are already running continue.
   */
  work(options?: WorkOptions): () => void
  /**
   * Resolves when no conversation is running, at the latest after `withinMs` milliseconds. With `handOver`, and if the store has a relay of
   * live events, as PostgreSQL has, a running turn stops after its current round and stays open. Another process continues it.
   */
  drain(withinMs: number, options?: { readonly handOver?: boolean }): Promise<void>
  /** Interrupts the running turns. They stay open in the journal, so that `recover` of a later process can resume them. */
  close(): Promise<void>
}
