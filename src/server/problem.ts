import type { FailureCode } from '../core/failure.ts'
import { Failure } from '../core/failure.ts'

/** `application/problem+json`, with the failure's code as its stable name. */
export interface Problem {
  readonly type: string
  readonly status: number
  readonly title: string
  readonly code: FailureCode | 'internal'
}

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

/** What a client may know of an error. Anything that is not a Failure says nothing but that it happened. */
export function problemOf(error: unknown): Problem {
  if (!(error instanceof Failure)) return { type: 'about:blank', status: 500, title: 'Something went wrong on our side.', code: 'internal' }
  const status = statuses[error.code]
  const title = status < 500 ? error.message : 'The store cannot answer right now.'
  return { type: 'about:blank', status, title, code: error.code }
}
