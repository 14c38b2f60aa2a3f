/**
 * Removes absolute paths and texts that look like credentials from the error text of a library. The library did not write this text for a
 * model, and a model that reads it could repeat it to users.
 */
export function redact(text: string): string {
  let safe = stripAbsolutePaths(text).replace(passwordInUrl, `$1:${REMOVED}@`)
  for (const shape of keyShapes) safe = safe.replace(shape, REMOVED)
  return safe.replace(labelledSecret, (_all, label: string, sign: string, scheme = '') => `${label}${sign}${scheme}${REMOVED}`)
}

/** Shortens each absolute path to its last part: `open '/home/me/x.txt'` becomes `open 'x.txt'`. */
export function stripAbsolutePaths(text: string): string {
  return text.replace(absolutePaths, (path) => path.split(/[\\/]/).findLast((part) => part !== '') ?? '')
}

const REMOVED = '[secret removed]'

/**
 * Secrets that can be recognised by their form: PEM private keys, API keys with a known prefix, JSON web tokens and other base64 of JSON.
 * At each position, an expression reads only a few characters to decide whether a secret begins there. All further characters belong to the
 * secret and are removed, so they are not read again. Therefore the time is linear for every text.
 */
const keyShapes = [
  /-----BEGIN [A-Z ]{0,64}PRIVATE KEY-----[^-]*(?:-(?!----)[^-]*)*(?:-----END [A-Z ]{0,64}PRIVATE KEY-----)?/g,
  /\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}/g,
  /\b(?:gh[opsur]_|github_pat_|glpat-|xox[abeprs]-|npm_|hf_)[A-Za-z0-9_-]{10,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{30,}/g,
  /\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+)*/g,
]

/** Secrets that follow a label: `Authorization: Bearer …`, `password=…`, `"api_key": "…"`. */
const labelledSecret =
  /\b((?:proxy-)?authorization|x-api-key|api[-_]?key|access[-_]?key|secret(?:[-_]?key)?|client[-_]?secret|access[-_]?token|refresh[-_]?token|auth[-_]?token|token|password|passwd|pwd)(["']?\s{0,3}[:=]\s{0,3}["']?)((?:bearer|basic)\s{1,3})?(?!\[secret removed\]|(?:bearer|basic)\s)[^\s"'&,;<>)]{4,}/gi

/** A password in a URL such as `postgres://me:password@host`. Only the password is removed. The user name stays. */
const passwordInUrl = /\b([a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@"']{0,128}):[^\s/@"']{1,256}@/gi

const roots = 'home|Users|root|tmp|var|opt|srv|etc|usr|mnt|private|work|workspace|app|data'

// Matches absolute paths below the usual top folders of a disk. Other paths, such as `/v1/items`, do not match, because they may be routes
// of an API. The path in a URL does not match either.
const absolutePaths = new RegExp(`(?<![\\w/:.~-])(?:file://)?(?:[A-Za-z]:[\\\\/]|/(?:${roots})/)[^\\s'"\`<>|*?:,;()]*`, 'g')
