import { type Attempt, get, json, post } from './attempt.ts'

const missing = 'conversation.missing'
const theirs = '/v1/conversations/plans'

/** Requests for data of another tenant. The server must respond as if this data did not exist. */
export const otherTenantAttempts: readonly Attempt[] = [
  get('a conversation', theirs, 404, missing),
  get('a timeline', `${theirs}/timeline`, 404, missing),
  get('an event stream', `${theirs}/events`, 404, missing),
  get('an event stream as the AI SDK reads it', `${theirs}/events?as=ui-message`, 404, missing),
  get('a turn log', ({ ann }) => `${theirs}/turns/${ann.turn}/log`, 404, missing),
  get('a turn log through the attacker’s conversation', ({ ann }) => `/v1/conversations/mine/turns/${ann.turn}/log`, 404, 'turn.missing'),
  get('sources', `${theirs}/sources`, 404, missing),
  get('files', `${theirs}/files`, 404, missing),
  get('an export', `${theirs}/export`, 404, missing),
  get('a prompt', ({ ann }) => `${theirs}/rounds/${ann.turn}/0/prompt`, 404, missing),
  get(
    'a prompt through the attacker’s conversation',
    ({ ann }) => `/v1/conversations/mine/rounds/${ann.turn}/0/prompt`,
    404,
    'turn.missing',
  ),
  get('a round', ({ ann }) => `${theirs}/rounds/${ann.turn}/0`, 404, missing),
  get('a round through the attacker’s conversation', ({ ann }) => `/v1/conversations/mine/rounds/${ann.turn}/0`, 404, 'turn.missing'),
  get('the entries of a journal', `${theirs}/entries`, 404, missing),
  get('a replay', `${theirs}/replay`, 404, missing),
  get('a replay of their turn', ({ ann }) => `/v1/conversations/mine/replay?turn=${ann.turn}`, 404, 'turn.missing'),
  get('a cost report', `${theirs}/ledger`, 404, missing),
  post('a fork', `${theirs}/fork`, '{}', 404, missing),
  post('a fork at an entry', `${theirs}/fork`, '{"at_seq":5}', 404, missing),
  post('a fork at their turn', '/v1/conversations/mine/fork', '{"at_turn":"turn_0_000000"}', 422, 'change.invalid'),
  post('a question', `${theirs}/turns`, '{"text":"what is in here?"}', 404, missing),
  post('a steer', `${theirs}/turns`, '{"text":"stop that","mode":"steer"}', 404, missing),
  { description: 'a stop', request: () => ({ method: 'POST', path: `${theirs}/stop` }), status: 404, code: missing },
  post('feedback', `${theirs}/feedback`, '{"turn_id":"turn_1","reaction":"ok"}', 404, missing),
  {
    description: 'a new title',
    request: () => ({ method: 'PATCH', path: theirs, headers: json, body: '{"title":"x"}' }),
    status: 404,
    code: missing,
  },
  { description: 'a deletion', request: () => ({ method: 'DELETE', path: theirs }), status: 404, code: missing },
  get('a list', '/v1/conversations', 200),
  get('a search for their words', '/v1/conversations?search=MARZIPAN', 200),
  get('a search for everything', '/v1/conversations?search=%25', 200),
  { ...get('a page with their cursor', ({ ann }) => `/v1/conversations?cursor=${encodeURIComponent(ann.cursor)}`, 200), mode: 'bearer' },
  get('a store key as a name', '/v1/conversations/acme%2Fmain%2Fann%2Fplans', 404, missing),
  get('a store key that was encoded twice', '/v1/conversations/acme%252Fmain%252Fann%252Fplans', 404, missing),
  get('a file by its resource name', ({ ann }) => `/v1/resources/${encodeURIComponent(ann.rn)}`, 404, 'resource.missing'),
  get('a file by its key', ({ ann }) => `/v1/resources/${encodeURIComponent(ann.key)}`, 404, 'resource.missing'),
  get('a file by its address', ({ ann }) => `/v1/resources/${encodeURIComponent(ann.uri)}`, 404, 'resource.missing'),
  get('a file by its hash', ({ ann }) => `/v1/resources/${ann.sha256}`, 404, 'resource.missing'),
  {
    description: 'a conditional request with a guessed file hash',
    request: ({ ann }) => ({ path: `/v1/resources/${encodeURIComponent(ann.rn)}`, headers: { 'if-none-match': `"${ann.sha256}"` } }),
    status: 404,
    code: 'resource.missing',
  },
  {
    description: 'a part of a file',
    request: ({ ann }) => ({ path: `/v1/resources/${encodeURIComponent(ann.rn)}`, headers: { range: 'bytes=0-3' } }),
    status: 404,
    code: 'resource.missing',
  },
  {
    description: 'a file of another user of the same tenant',
    mode: 'bearer',
    request: ({ ann, tokenOf }) => ({
      path: `/v1/resources/${encodeURIComponent(ann.rn)}`,
      headers: bearing(tokenOf({ tenant: 'acme', sub: 'bob' })),
    }),
    status: 404,
    code: 'resource.missing',
  },
  {
    description: 'a conversation of another user of the same tenant',
    mode: 'bearer',
    request: ({ tokenOf }) => ({ path: theirs, headers: bearing(tokenOf({ tenant: 'acme', sub: 'bob' })) }),
    status: 404,
    code: missing,
  },
  {
    description: 'a conversation of the same user in another project',
    mode: 'bearer',
    request: ({ tokenOf }) => ({ path: theirs, headers: bearing(tokenOf({ tenant: 'acme', project: 'side', sub: 'ann' })) }),
    status: 404,
    code: missing,
  },
  {
    description: 'a scope whose names join to the same key',
    mode: 'bearer',
    request: ({ tokenOf }) => ({ path: theirs, headers: bearing(tokenOf({ tenant: 'acme/main', project: 'ann', sub: 'plans' })) }),
    status: 404,
    code: missing,
  },
  {
    description: 'a bundle that references a blob of another tenant by its hash',
    request: ({ ann }) => ({
      method: 'POST',
      path: '/v1/conversations/import?as=stolen',
      headers: json,
      body: JSON.stringify({
        version: 1,
        blocks: [{ type: 'user.attachment', mime: 'text/plain', blob: { sha256: ann.sha256, size: 16 } }],
      }),
    }),
    status: 422,
    code: 'bundle.invalid',
  },
  post(
    'an import under the key of their conversation',
    '/v1/conversations/import?as=acme%2Fmain%2Fann%2Fplans',
    '{}',
    400,
    'request.invalid',
  ),
  post('a fork under the key of their conversation', '/v1/conversations/mine/fork', '{"id":"acme/main/ann/plans"}', 400, 'request.invalid'),
  {
    description: 'another tenant in a header',
    mode: 'bearer',
    request: ({ token }) => ({
      path: theirs,
      headers: { ...bearing(token), 'x-tenant': 'acme', 'x-user': 'ann', 'x-forwarded-user': 'ann' },
    }),
    status: 404,
    code: missing,
  },
]

export const bearing = (token: string) => ({ authorization: `Bearer ${token}` })

export function agUi(text: string): string {
  const messages = [{ id: 'm1', role: 'user', content: text }]
  return JSON.stringify({ threadId: 't', runId: 'r', state: {}, messages, tools: [], context: [], forwardedProps: {} })
}

export function uiMessage(text: string): string {
  return JSON.stringify({ id: 'c', trigger: 'submit-message', messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text }] }] })
}
