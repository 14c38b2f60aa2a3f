import type { FailureCode } from '../core/failure.ts'
import { Failure } from '../core/failure.ts'

/** The body of an error response, `application/problem+json`. Programs may depend on `code`. `title` is for people and may change. */
export interface Problem {
  readonly type: string
  readonly status: number
  readonly title: string
  readonly code: FailureCode | RequestCode | 'internal'
  readonly issues?: readonly { readonly where: string; readonly message: string }[]
}

/** The codes of problems with the request itself. Other problems have the code of a `Failure`. */
export type RequestCode =
  | 'request.broken'
  | 'request.invalid'
  | 'request.too_large'
  | 'request.too_many'
  | 'request.too_slow'
  | 'request.unsupported'
  | 'route.missing'
  | 'route.method'
  | 'role.refused'
  | 'resource.changed'
  | 'resource.missing'
  | 'resource.range'
  | 'host.refused'
  | 'origin.refused'
  | 'token.refused'
  | 'code.refused'
  | 'auth.unavailable'
  | 'server.draining'
  | 'server.overloaded'

/** The status of the response for each failure. */
export const problemStatuses: { readonly [C in FailureCode]: number } = {
  'attachment.rejected': 400,
  'block.invalid': 422,
  'blob.missing': 404,
  'blob.damaged': 500,
  'budget.invalid': 400,
  'budget.missing': 404,
  'budget.unsupported': 501,
  'bundle.invalid': 422,
  'call.expired': 410,
  'call.missing': 404,
  'call.refused': 403,
  'call.settled': 409,
  'change.invalid': 422,
  'conversation.busy': 409,
  'conversation.exists': 409,
  'conversation.missing': 404,
  'conversation.newer': 503,
  'conversation.superseded': 409,
  'cursor.invalid': 400,
  'document.unreadable': 422,
  'document.unrenderable': 422,
  'file.unsafe': 422,
  'hosting.failed': 503,
  'message.missing': 404,
  'message.read': 409,
  'message.withdrawn': 410,
  'model.unavailable': 503,
  'receipt.unsupported': 501,
  'schedule.invalid': 400,
  'schedule.limit': 409,
  'schedule.missing': 404,
  'schedule.unsupported': 501,
  'store.closed': 503,
  'store.damaged': 500,
  'store.failed': 503,
  'store.newer': 503,
  'store.outdated': 503,
  'tool.missing': 409,
  'turn.missing': 404,
  'workspace.failed': 503,
  'workspace.missing': 503,
}

/** An error that a handler throws to answer the request with a problem. */
export class RequestProblem extends Error {
  override readonly name = 'RequestProblem'
  readonly status: number
  readonly code: RequestCode
  readonly issues: Problem['issues']
  readonly headers: Readonly<Record<string, string>>

  constructor(
    status: number,
    code: RequestCode,
    title: string,
    more: { readonly issues?: Problem['issues']; readonly headers?: Readonly<Record<string, string>>; readonly cause?: unknown } = {},
  ) {
    super(title, more.cause === undefined ? {} : { cause: more.cause })
    this.status = status
    this.code = code
    this.issues = more.issues
    this.headers = more.headers ?? {}
  }
}

/**
 * The problem that a client gets for an error. For an unexpected error the problem has no details, because the message of the error may
 * contain paths or data of other users.
 */
export function problemOf(error: unknown): Problem {
  if (error instanceof RequestProblem) {
    const { status, code, message: title, issues } = error
    return { type: 'about:blank', status, title, code, ...(issues && { issues }) }
  }
  if (!(error instanceof Failure))
    return { type: 'about:blank', status: 500, title: 'The server failed unexpectedly; its log has the details.', code: 'internal' }
  const status = problemStatuses[error.code]
  const title = titleOf(error, status)
  const issues = error.code === 'attachment.rejected' ? attachmentIssues(error) : undefined
  return { type: 'about:blank', status, title, code: error.code, ...(issues && { issues }) }
}

function titleOf(error: Failure, status: number): string {
  if (status >= 500) return 'The server cannot do this right now; try again later.'
  // The message of the failure is replaced, because it contains a host name and a process id, which are not for clients.
  if (error.code === 'conversation.superseded') return 'Another process has taken over this conversation: nothing was stored; try again.'
  if (error.code === 'conversation.busy')
    return `Another process is working on this conversation until ${error.details.expiresAt}, or longer: try again then.`
  return error.message
}

/** The headers of an error response. `nowMs` is the current time in milliseconds. */
export function errorHeaders(error: unknown, nowMs: number): Readonly<Record<string, string>> {
  if (error instanceof RequestProblem) return error.headers
  const until = error instanceof Failure && error.code === 'conversation.busy' ? Date.parse(String(error.details.expiresAt)) : Number.NaN
  return Number.isNaN(until) ? {} : { 'retry-after': String(Math.max(1, Math.ceil((until - nowMs) / 1000))) }
}

/** The name of each rejected attachment, with the reason. */
function attachmentIssues({ details }: Failure): Problem['issues'] {
  const { attachments } = details
  if (!Array.isArray(attachments)) return undefined
  return attachments.map(({ name, message }: { name?: unknown; message?: unknown }) => ({ where: String(name), message: String(message) }))
}

/** The problem of a request whose body, query or path does not match its schema. */
export function invalidRequest(
  issues: readonly { readonly path?: readonly unknown[] | undefined; readonly message: string }[],
): RequestProblem {
  const shown = issues.slice(0, 20).map(({ path = [], message }) => ({ where: path.map(String).join('.'), message }))
  return new RequestProblem(400, 'request.invalid', 'The request does not match what this path accepts.', { issues: shown })
}
