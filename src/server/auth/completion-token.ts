import type { HonoRequest } from 'hono'
import type { Caller } from './authenticate.ts'

/** The header that contains the token of a tool call. With this token, another system can deliver the late result of the call. */
export const completionTokenHeader = 'x-completion-token'

/** Whether a path is `/v1/conversations/:id/calls/:call/completion`. */
function isCompletionPath(path: string): boolean {
  const [root, version, conversations, , calls, , completion, ...more] = path.split('/')
  return (
    root === '' &&
    version === 'v1' &&
    conversations === 'conversations' &&
    calls === 'calls' &&
    completion === 'completion' &&
    more.length === 0
  )
}

/**
 * Whether a request delivers a late result with the token of its call. Such a request needs no access token. The route checks the token of
 * the call.
 */
export const hasCompletionToken = (request: Pick<HonoRequest, 'method' | 'path' | 'header'>): boolean =>
  request.method === 'POST' && isCompletionPath(request.path) && request.header(completionTokenHeader) !== undefined

/**
 * The caller of requests with the token of a call. This caller owns no conversation and has no role. All these requests share one rate
 * limit.
 */
export const completionCaller: Caller = { scope: { tenant: 'late-results', project: 'late-results', user: 'late-results' }, roles: [] }
