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
  | 'tool.missing'
  | 'turn.missing'
  | 'workspace.failed'
  | 'workspace.missing'

/**
 * An error with a stable code. There are three ways to report a problem:
 *   an operation that fails  -> throw Failure, for example for a broken disk; during a turn it ends the turn
 *   a tool that failed       -> return { ok: false, error }; the model reads it next round
 *   a model that broke rules -> append a react.notice; the model reads it and corrects its next response
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

/**
 * How to install packages with Node 24. If Node is too old, npm leaves optional packages out without a warning. npm itself runs with the
 * first Node in the PATH, so a Node 24 in `node_modules` is not enough.
 */
export const installText = (...packages: readonly string[]): string => {
  const command = ['npm install', ...packages].join(' ')
  return `run ${command} with Node 24 or newer, because npm leaves packages out under an older Node. If only the package node in this folder is new enough, run PATH=$PWD/node_modules/.bin:$PATH ${command}`
}

/** The message for an optional package that is not installed. */
export const missingPackageText = (packageName: string): string =>
  `the package ${packageName} is not installed: ${installText(packageName)}`

/** How to get Node 24 beside an older Node. */
export const newerNodeText = 'run nvm install 24 or fnm install 24, or for this folder only npm install --save-dev node@24'
