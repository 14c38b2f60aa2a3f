import { type Attempt, get } from './attempt.ts'

const missing = 'conversation.missing'
const nothing = 'route.missing'

/** Paths with traversal, encodings and invalid values. */
export const pathAttempts: readonly Attempt[] = [
  get('dots as a conversation', '/v1/conversations/%2e%2e', 404, nothing),
  get('dots and a slash', '/v1/conversations/%2e%2e%2f%2e%2e%2fetc', 404, missing),
  get('unencoded dots', '/v1/conversations/../../etc/passwd', 404, nothing),
  get('a NUL', '/v1/conversations/mine%00', 404, missing),
  get('bytes that are not UTF-8', '/v1/conversations/%ff%fe', 404, missing),
  get('a percent sign that encodes nothing', '/v1/conversations/%zz', 404, missing),
  get('look-alike characters', '/v1/conversations/m%D1%96ne', 404, missing),
  get('a right-to-left override', '/v1/conversations/%E2%80%AEenim', 404, missing),
  get('full-width letters', '/v1/conversations/%EF%BD%8D%EF%BD%89ne', 404, missing),
  get('a name of 4,000 characters', `/v1/conversations/${'a'.repeat(4_000)}`, 404, missing),
  get('a slash at the end', '/v1/conversations/mine/', 404, nothing),
  get('two slashes', '//v1/conversations/mine', 404, nothing),
  get('another case', '/V1/Conversations/mine', 404, nothing),
  get('a backslash', '/v1/conversations/mine%5C..%5Cplans', 404, missing),
  get('a turn with dots and slashes', '/v1/conversations/mine/turns/..%2F..%2Fplans/log', 404, 'turn.missing'),
  get('a turn with a NUL', '/v1/conversations/mine/turns/%00/log', 404, 'turn.missing'),
  get('a turn of 4,000 characters', `/v1/conversations/mine/turns/${'t'.repeat(4_000)}/log`, 400, 'request.invalid'),
  get('a round that is not a number', '/v1/conversations/mine/rounds/turn_1/x/prompt', 400, 'request.invalid'),
  get('a negative round', '/v1/conversations/mine/rounds/turn_1/-1/prompt', 400, 'request.invalid'),
  get('a file of the machine', '/v1/resources/..%2F..%2F..%2Fetc%2Fpasswd', 404, 'resource.missing'),
  get('a file of the machine, by address', '/v1/resources/file%3A%2F%2F%2Fetc%2Fpasswd', 404, 'resource.missing'),
  get('a file of the network', '/v1/resources/http%3A%2F%2F169.254.169.254%2Flatest', 404, 'resource.missing'),
  get('a file with a NUL', ({ file }, mode) => `/v1/resources/${encodeURIComponent(file[mode])}%00`, 404, 'resource.missing'),
  get(
    'a file and another spelling of it',
    ({ file }, mode) => `/v1/resources/${encodeURIComponent(`${file[mode]}/.`)}`,
    404,
    'resource.missing',
  ),
  get('a file of 5,000 characters', `/v1/resources/${'a'.repeat(5_000)}`, 400, 'request.invalid'),
  get('the source of the page', '/page/..%2Froute.ts', 404, nothing),
  get('a page that does not exist', '/page/package.json', 404, nothing),
  get('a hidden file', '/.env', 404, nothing),
  get('__proto__ as a conversation', '/v1/conversations/__proto__', 404, missing),
  get('a list that is too long', '/v1/conversations?limit=1000000', 400, 'request.invalid'),
  get('a list with limit 0', '/v1/conversations?limit=0', 400, 'request.invalid'),
  get('a list with a fractional limit', '/v1/conversations?limit=0.5', 400, 'request.invalid'),
  get('a forged cursor', '/v1/conversations?cursor=%27%3B+drop+table+entries%3B--', 400, 'cursor.invalid'),
  get('a long search', `/v1/conversations?search=${'a'.repeat(3_000)}`, 400, 'request.invalid'),
  get('a parameter that does not exist', '/v1/conversations?admin=true', 400, 'request.invalid'),
]
