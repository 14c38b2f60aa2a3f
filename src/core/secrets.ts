/**
 * Removes absolute paths of this machine and anything that looks like a credential from an error text of a library. The model may
 * repeat whatever it reads, and such texts were not written for it.
 */
export function redact(text: string): string {
  let safe = stripAbsolutePaths(text).replace(passwordInUrl, `$1:${REMOVED}@`)
  for (const shape of keyShapes) safe = safe.replace(shape, REMOVED)
  return safe.replace(labelledSecret, (_all, label: string, sign: string, scheme = '') => `${label}${sign}${scheme}${REMOVED}`)
}

/** Cuts each absolute path to its last part: `open '/home/me/x.txt'` becomes `open 'x.txt'`. */
export function stripAbsolutePaths(text: string): string {
  return text.replace(absolutePaths, (path) => path.split(/[\\/]/).findLast((part) => part !== '') ?? '')
}

const REMOVED = '[secret removed]'

/** Secrets with a recognisable shape: PEM private keys, API keys with a known prefix, JSON web tokens. */
const keyShapes = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]{0,8192}?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /\b(?:sk|pk|rk)[-_](?:[a-z]+[-_])*[A-Za-z0-9_-]{16,256}/g,
  /\b(?:gh[opsur]_|github_pat_|glpat-|xox[abeprs]-|npm_|hf_)[A-Za-z0-9_-]{10,256}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{30,64}/g,
  /\beyJ[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{4,1024}/g,
]

/** Secrets after a label: `Authorization: Bearer …`, `password=…`, `"api_key": "…"`. */
const labelledSecret =
  /\b((?:proxy-)?authorization|x-api-key|api[-_]?key|access[-_]?key|secret(?:[-_]?key)?|client[-_]?secret|access[-_]?token|refresh[-_]?token|auth[-_]?token|token|password|passwd|pwd)(["']?\s{0,3}[:=]\s{0,3}["']?)((?:bearer|basic)\s{1,3})?(?!\[secret removed\]|(?:bearer|basic)\s)[^\s"'&,;<>)]{4,4096}/gi

/** A password in a URL such as `postgres://me:password@host`. Only the password is removed; the user name stays. */
const passwordInUrl = /\b([a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@"']{0,128}):[^\s/@"']{1,256}@/gi

const roots = 'home|Users|root|tmp|var|opt|srv|etc|usr|mnt|private|work|workspace|app|data'

// Matches only paths below the usual top folders of a disk, because `/v1/items` is a route. The path of a URL does not match.
const absolutePaths = new RegExp(`(?<![\\w/:.~-])(?:file://)?(?:[A-Za-z]:[\\\\/]|/(?:${roots})/)[^\\s'"\`<>|*?:,;()]*`, 'g')
