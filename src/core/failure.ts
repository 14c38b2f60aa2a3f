/** The code of a failure, in the form `noun.problem`. Codes never change, so that clients can compare them. */
export type FailureCode =
  | 'attachment.rejected'
  | 'block.invalid'
  | 'blob.missing'
  | 'blob.damaged'
  | 'budget.invalid'
  | 'budget.missing'
  | 'budget.unsupported'
  | 'bundle.invalid'
  | 'call.expired'
  | 'call.missing'
  | 'call.refused'
  | 'call.settled'
  | 'change.invalid'
  | 'conversation.busy'
  | 'conversation.exists'
  | 'conversation.missing'
  | 'conversation.newer'
  | 'conversation.superseded'
  | 'cursor.invalid'
  | 'document.unreadable'
  | 'document.unrenderable'
  | 'file.unsafe'
  | 'hosting.failed'
  | 'message.missing'
  | 'message.read'
  | 'message.withdrawn'
  | 'model.unavailable'
  | 'receipt.unsupported'
  | 'schedule.invalid'
  | 'schedule.limit'
  | 'schedule.missing'
  | 'schedule.unsupported'
  | 'store.closed'
  | 'store.damaged'
  | 'store.failed'
  | 'store.newer'
  | 'store.outdated'
  | 'turn.missing'
  | 'workspace.failed'
  | 'workspace.missing'

/**
 * An error with a stable code. There are three ways to report a problem:
 *   an operation that fails  -> throw Failure, for example for a broken disk; during a turn it ends the turn
 *   a tool that failed       -> return { ok: false, error }; the model reads it next round
 *   a model that broke rules -> append a react.notice; the model corrects itself
 */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly code: FailureCode
  readonly details: Readonly<Record<string, unknown>>

  constructor(code: FailureCode, message: string, options: { details?: Record<string, unknown>; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.details = options.details ?? {}
  }
}

/** The message of a thrown value, for people and logs. It may contain secrets, so a text for the model must also be passed to `redact`. */
export const errorMessage = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown))

/** The message for an optional package that is not installed. If Node is too old, npm leaves such a package out without a warning. */
export const missingPackageText = (packageName: string): string =>
  `the package ${packageName} is not installed: run npm install ${packageName} with Node 24 or newer (npm skips it under an older Node)`
