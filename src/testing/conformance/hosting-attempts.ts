import type { Scope } from '../../core/scope.ts'
import type { HostingHandles } from '../../ports/hosting.ts'

/** An attempt of `viewer` to get a file with this handle. It must fail. */
export interface Attempt {
  readonly what: string
  readonly handle: string
  readonly viewer: Scope
}

/**
 * Attempts to get the file `hosted`, which belongs to `owner`. All attempts must fail. The user `intruder` has another hosted file, `own`,
 * with the same name.
 */
export function foreignAttempts(hosted: HostingHandles, own: HostingHandles, owner: Scope, intruder: Scope): readonly Attempt[] {
  return [...byAnotherViewer(hosted, owner), ...byAnotherSpelling(hosted, own, owner, intruder)]
}

/** Attempts of viewers other than the owner, with the correct handles. */
function byAnotherViewer({ rn, key, hosted_uri }: HostingHandles, owner: Scope): readonly Attempt[] {
  const { tenant, project, user } = owner
  const viewers: readonly (readonly [string, Scope])[] = [
    ['another tenant', { ...owner, tenant: 'globex' }],
    ['another project', { ...owner, project: 'films' }],
    ['another user', { ...owner, user: 'eve' }],
    ['a tenant in capitals', { ...owner, tenant: tenant.toUpperCase() }],
    ['a project in capitals', { ...owner, project: project.toUpperCase() }],
    ['a user in capitals', { ...owner, user: user.toUpperCase() }],
    ['a user with a trailing dot', { ...owner, user: `${user}.` }],
    ['a user with a trailing space', { ...owner, user: `${user} ` }],
    ['a user with a trailing slash', { ...owner, user: `${user}/` }],
    ['a user with a NUL', { ...owner, user: `${user}\0` }],
    ['a user with an invisible sign', { ...owner, user: `${user}\u200b` }],
    ['a user in look-alike letters', { ...owner, user: user.replace('a', '\u0430') }],
    ['a user that is a longer path', { ...owner, user: `${user}/c1` }],
    ['a user that is a shorter name', { ...owner, user: user.slice(0, -1) }],
    ['a user with `..` in the name', { ...owner, user: `eve/../${user}` }],
    ['a tenant whose name includes the project', { tenant: `${tenant}:${project}`, project: 'chatbot', user }],
    ['a wildcard', { tenant: '*', project: '*', user: '*' }],
    ['an empty scope', { tenant: '', project: '', user: '' }],
  ]
  return viewers.flatMap(([who, viewer]) => [
    { what: `rn, seen by ${who}`, handle: rn, viewer },
    { what: `key, seen by ${who}`, handle: key, viewer },
    { what: `uri, seen by ${who}`, handle: hosted_uri, viewer },
  ])
}

/** Attempts with modified handles. They must fail for the intruder and for the owner. */
function byAnotherSpelling(hosted: HostingHandles, own: HostingHandles, owner: Scope, intruder: Scope): readonly Attempt[] {
  const mine = own.key.slice(0, own.key.indexOf(`/${intruder.user}/`))
  const climbs = ['..', '%2e%2e', '%2E%2E', '%252e%252e', '.%2e', '..%2f..', '\uff0e\uff0e', '..\0', '.. ', '...'].map(
    (up): readonly [string, string] => [
      `a key that leaves the folder of its user with ${JSON.stringify(up)}`,
      `${mine}/${intruder.user}/${up}/${hosted.key.slice(mine.length + 1)}`,
    ],
  )
  const spellings = [...climbs, ...nameSpellings(hosted, owner), ...keySpellings(hosted), ...uriSpellings(hosted)]
  return spellings.flatMap(([what, handle]) =>
    [owner, intruder].map((viewer) => ({ what: `${what}, seen by ${viewer.user}`, handle, viewer })),
  )
}

function nameSpellings({ rn }: HostingHandles, { user }: Scope): readonly (readonly [string, string])[] {
  const tail = rn.slice(rn.lastIndexOf(':') + 1)
  return [
    ['an rn in capitals', rn.toUpperCase()],
    ['an rn without its scheme', rn.slice(3)],
    ['an rn of another scheme', `ek${rn.slice(2)}`],
    ['an rn, decoded', decodeURIComponent(rn)],
    ['an rn, encoded twice', encodeURIComponent(rn)],
    ['an rn with its tail encoded twice', rn.replace(tail, encodeURIComponent(tail))],
    ['an rn in small hex digits', rn.replaceAll('%2F', '%2f')],
    ['an rn with a letter encoded', rn.replace(`:${user}:`, `:%${user.charCodeAt(0).toString(16)}${user.slice(1)}:`)],
    ['an rn with an empty part', rn.replace(`:${user}:`, '::')],
    ['an rn with a part too many', rn.replace(`:${user}:`, `:eve:${user}:`)],
    ['an rn with a part too few', rn.replace(`:${user}:`, ':')],
    ['an rn of another role', rn.replace(':artifact:', ':user:')],
    ['an rn of another stage', rn.replace(':file:', ':attachment:')],
    ['an rn of a stage that is not hosted', rn.replace(':file:', ':message:')],
    ['an rn of another turn', rn.replaceAll('turn_1', 'turn_2')],
    ['an rn with `..` in its path', rn.replace(tail, `..%2F${tail}`)],
    ['an rn with a NUL', `${rn}%00`],
    ['an rn with a space behind it', `${rn} `],
    ['an rn with a newline behind it', `${rn}\n`],
    ['an rn with a trailing dot', `${rn}.`],
    ['an rn with a query', `${rn}?x=1`],
    ['an rn with a space in the form of a plus', rn.replaceAll('%20', '+')],
  ]
}

function keySpellings({ key, blob }: HostingHandles): readonly (readonly [string, string])[] {
  return [
    ['nothing', ''],
    ['the root', '/'],
    ['a key with a slash before it', `/${key}`],
    ['a key with a slash behind it', `${key}/`],
    ['a key with an empty segment', key.replace('/projects/', '//projects/')],
    ['a key with a dot segment', `./${key}`],
    ['a key in capitals', key.toUpperCase()],
    ['a key with backslashes', key.replaceAll('/', '\\')],
    ['a key, encoded', encodeURIComponent(key)],
    ['a key with a NUL', `${key}\0`],
    ['a key with a trailing dot', `${key}.`],
    ['a key with a letter escaped', key.replace('/acme/', '/~61cme/')],
    ['a key of the original system', key.replace('daybook/', 'cb/')],
    ['the folder of a key', key.slice(0, key.lastIndexOf('/'))],
    ['the bytes themselves', `daybook/blobs/${blob.sha256.slice(0, 2)}/${blob.sha256}`],
    ['the hash of the bytes', blob.sha256],
    ['a path on disk', '/etc/passwd'],
    ['a path on disk with `..`', '../../../../etc/passwd'],
    ['a path below OUT_DIR', 'turn_1/files/q3 report.pdf'],
    ['a handle without end', `${key}${'/x'.repeat(100_000)}`],
  ]
}

function uriSpellings({ key, hosted_uri }: HostingHandles): readonly (readonly [string, string])[] {
  const [scheme = ''] = hosted_uri.split('://')
  const encoded = hosted_uri.slice(hosted_uri.indexOf('daybook/'))
  return [
    ['a uri in capitals', hosted_uri.replace(scheme, scheme.toUpperCase())],
    ['a uri, not encoded', hosted_uri.replace(encoded, key)],
    ['a uri, encoded twice', hosted_uri.replace(encoded, encoded.replaceAll('%', '%25'))],
    ['a uri with a query', `${hosted_uri}?versionId=1`],
    ['a uri with a fragment', `${hosted_uri}#x`],
    ['a uri that climbs', hosted_uri.replace('daybook/', 'daybook/../daybook/')],
    ['a uri with an encoded `..`', hosted_uri.replace('daybook/', 'daybook/%2e%2e/daybook/')],
    ['a uri with a host', `file://localhost/${encoded}`],
    ['a uri with one slash', `file:/${encoded}`],
    ['a file uri of the machine', 'file:///etc/passwd'],
    ['a file uri of its processes', 'file:///proc/self/environ'],
    ['a uri of another bucket', `s3://other-bucket/${encoded}`],
    ['a uri of a bucket with a longer name', hosted_uri.replace('://', '://x')],
    ['a uri with credentials', hosted_uri.replace('://', '://user:secret@')],
    ['a uri over HTTP', hosted_uri.replace(scheme, 'https')],
  ]
}
