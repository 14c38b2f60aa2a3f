import type { FailureCode } from '../core/failure.ts'
import { Failure } from '../core/failure.ts'

/** `application/problem+json`, with a stable name for what went wrong. */
export interface Problem {
  readonly type: string
  readonly status: number
  readonly title: string
  readonly code: FailureCode | RequestCode | 'internal'
  readonly issues?: readonly { readonly where: string; readonly message: string }[]
}

/** What can be wrong with a request itself. */
export type RequestCode =
  | 'request.broken'
  | 'request.invalid'
  | 'request.too_large'
  | 'request.too_many'
  | 'request.too_slow'
  | 'request.unsupported'
  | 'route.missing'
  | 'route.method'
  | 'resource.changed'
  | 'resource.missing'
  | 'resource.range'
  | 'host.refused'
  | 'origin.refused'
  | 'token.refused'
  | 'server.draining'

const statuses: { readonly [C in FailureCode]: number } = {
  'attachment.rejected': 400,
  'block.invalid': 422,
  'blob.missing': 404,
  'blob.damaged': 500,
  'bundle.invalid': 422,
  'change.invalid': 422,
  'conversation.busy': 409,
  'conversation.exists': 409,
  'conversation.missing': 404,
  'conversation.superseded': 409,
  'cursor.invalid': 400,
  'document.unreadable': 422,
  'file.unsafe': 422,
  'hosting.failed': 503,
  'model.unavailable': 503,
  'store.closed': 503,
  'store.damaged': 500,
  'store.failed': 503,
  'store.newer': 503,
  'store.outdated': 503,
  'turn.missing': 404,
  'workspace.failed': 503,
  'workspace.missing': 503,
}

/** A request that is answered with a problem. */
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
    more: { readonly issues?: Problem['issues']; readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(title)
    this.status = status
    this.code = code
    this.issues = more.issues
    this.headers = more.headers ?? {}
  }
}

/** What a client may know of an error. Anything that nobody foresaw says nothing but that it happened. */
export function problemOf(error: unknown): Problem {
  if (error instanceof RequestProblem) {
    const { status, code, message: title, issues } = error
    return { type: 'about:blank', status, title, code, ...(issues && { issues }) }
  }
  if (!(error instanceof Failure)) return { type: 'about:blank', status: 500, title: 'Something went wrong on our side.', code: 'internal' }
  const status = statuses[error.code]
  const title = status < 500 ? error.message : 'The server cannot do this right now.'
  const issues = error.code === 'attachment.rejected' ? attachmentIssues(error) : undefined
  return { type: 'about:blank', status, title, code: error.code, ...(issues && { issues }) }
}

/** Which attachment, and why. */
function attachmentIssues({ details }: Failure): Problem['issues'] {
  const { attachments } = details
  if (!Array.isArray(attachments)) return undefined
  return attachments.map(({ name, message }: { name?: unknown; message?: unknown }) => ({ where: String(name), message: String(message) }))
}

/** Issues in the form of Standard Schema, of a body, a query or a path. */
export function invalidRequest(
  issues: readonly { readonly path?: readonly unknown[] | undefined; readonly message: string }[],
): RequestProblem {
  const told = issues.slice(0, 20).map(({ path = [], message }) => ({ where: path.map(String).join('.'), message }))
  return new RequestProblem(400, 'request.invalid', 'The request is not what this route takes.', { issues: told })
}
