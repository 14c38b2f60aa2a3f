/** What can go wrong badly enough to end a turn. `noun.problem`, stable: clients may match on it. */
export type FailureCode =
  | 'attachment.rejected'
  | 'block.invalid'
  | 'blob.missing'
  | 'blob.damaged'
  | 'bundle.invalid'
  | 'change.invalid'
  | 'conversation.busy'
  | 'conversation.exists'
  | 'conversation.missing'
  | 'conversation.superseded'
  | 'cursor.invalid'
  | 'document.unreadable'
  | 'file.unsafe'
  | 'hosting.failed'
  | 'model.unavailable'
  | 'store.closed'
  | 'store.damaged'
  | 'store.failed'
  | 'store.newer'
  | 'store.outdated'
  | 'turn.missing'
  | 'workspace.failed'
  | 'workspace.missing'

/**
 * Three kinds of wrong, three homes:
 *   a bug or a broken disk   -> throw Failure; it ends the turn
 *   a tool that could not    -> return { ok: false, error }; the agent reads it next round
 *   a model that broke rules -> append a react.notice; the agent corrects itself
 */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly code: FailureCode
  readonly details: Readonly<Record<string, unknown>>

  constructor(code: FailureCode, message: string, options: { details?: Record<string, unknown>; cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.code = code
    this.details = options.details ?? {}
  }
}

/** What was thrown, in words, as it said it itself: for people and logs. What a model reads goes through `tools/invoke.ts`. */
export const errorMessage = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown))
