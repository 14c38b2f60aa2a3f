/** Where a turn is held until its process is killed or told to continue: before or after its nth commit. */
export type HoldPoint = `before-${number}` | `after-${number}`

/** What a child process does. */
export type Task =
  /** Runs one turn in each conversation. `holds` has the point at which the turn of a conversation is held. */
  | {
      readonly do: 'turns'
      readonly conversations: readonly string[]
      readonly rounds: number
      /** How long each step of the model and of a tool takes. */
      readonly stepMs: number
      readonly holds?: Readonly<Record<string, HoldPoint>>
    }
  /** Resumes all unfinished turns. */
  | { readonly do: 'recover'; readonly rounds: number; readonly stepMs: number }
  /** Appends groups of entries to conversations, with a compaction now and then, until the process is killed. */
  | { readonly do: 'write'; readonly conversations: readonly string[]; readonly group: number }
  /** Claims conversations, and appends one entry to each conversation that it could claim. */
  | { readonly do: 'claim'; readonly conversations: readonly string[]; readonly from: 'names' | 'work list' }
  /** Offers events to a conversation. */
  | { readonly do: 'offer'; readonly conversationId: string; readonly eventIds: readonly string[] }
  /** Takes the offers of a conversation, until the process is killed or told to end. */
  | { readonly do: 'take'; readonly conversationId: string; readonly hold?: HoldPoint }
  /** Sends messages to conversations. The turns that answer them run in this process or another one. */
  | {
      readonly do: 'send'
      readonly messages: readonly { readonly conversationId: string; readonly eventId: string }[]
      readonly rounds: number
      readonly stepMs: number
    }
  /** Follows conversations. `after` has the last entry that the follower had received before. */
  | { readonly do: 'follow'; readonly follower: string; readonly after: Readonly<Record<string, number>> }

/** What a child process tells its parent. */
export type ChildMessage =
  | { readonly say: 'ready' }
  | { readonly say: 'step' }
  /** All turns are held. */
  | { readonly say: 'held' }
  | { readonly say: 'done'; readonly result: TaskResult }

/** The result of a task. */
export interface TaskResult {
  readonly claimed?: readonly { readonly conversationId: string; readonly epoch: number }[]
  readonly skipped?: readonly string[]
  /** The errors with which turns, appends and messages ended. */
  readonly errors?: readonly string[]
}

/** What a parent tells its child: begin the task, let held turns continue, or end. */
export type ParentMessage = 'begin' | 'go on' | 'end'
