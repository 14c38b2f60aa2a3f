/** Told by their shape: keys of services that mark their own, tokens that carry their claims, keys in armour. */
const keyShapes = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]{0,8192}?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /\b(?:sk|pk|rk)[-_](?:[a-z]+[-_])*[A-Za-z0-9_-]{16,256}/g,
  /\b(?:gh[opsur]_|github_pat_|glpat-|xox[abeprs]-|npm_|hf_)[A-Za-z0-9_-]{10,256}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{30,64}/g,
  /\beyJ[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{4,1024}/g,
]

/** Told by what stands before them: `Authorization: Bearer …`, `password=…`, `"api_key": "…"`. */
const labelledSecret =
  /\b((?:proxy-)?authorization|x-api-key|api[-_]?key|access[-_]?key|secret(?:[-_]?key)?|client[-_]?secret|access[-_]?token|refresh[-_]?token|auth[-_]?token|token|password|passwd|pwd)(["']?\s{0,3}[:=]\s{0,3}["']?)((?:bearer|basic)\s{1,3})?(?!\[secret removed\]|(?:bearer|basic)\s)[^\s"'&,;<>)]{4,4096}/gi

/** `postgres://me:word@host`: who is told may stay, the word goes. */
const passwordInUrl = /\b([a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@"']{0,128}):[^\s/@"']{1,256}@/gi

const REMOVED = '[secret removed]'

/**
 * Words of some library, for the model to read: without the places of our disk, and without what looks like a credential. Nobody meant
 * them for the model, and whatever it reads it may repeat.
 */
export function redact(text: string): string {
  let open = stripAbsolutePaths(text).replace(passwordInUrl, `$1:${REMOVED}@`)
  for (const key of keyShapes) open = open.replace(key, REMOVED)
  return open.replace(labelledSecret, (_all, name: string, sign: string, scheme = '') => `${name}${sign}${scheme}${REMOVED}`)
}

const roots = 'home|Users|root|tmp|var|opt|srv|etc|usr|mnt|private|work|workspace|app|data'

// Only under roots that disks have: `/v1/items` is a route, and what follows `https:/` is an address.
const absolutePaths = new RegExp(`(?<![\\w/:.~-])(?:file://)?(?:[A-Za-z]:[\\\\/]|/(?:${roots})/)[^\\s'"\`<>|*?:,;()]*`, 'g')

/** The text with each absolute path cut to its last part: `open '/home/me/x.txt'` says `open 'x.txt'`. Where it lay is nobody's business. */
export function stripAbsolutePaths(text: string): string {
  return text.replace(absolutePaths, (place) => place.split(/[\\/]/).findLast((part) => part !== '') ?? '')
}
