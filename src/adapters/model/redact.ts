import { ellipsize } from '../../core/cut.ts'

/** Patterns of keys in text. The keys of this process need no pattern: `redact` also removes them by their value. */
const keyPatterns: readonly RegExp[] = [
  /\b(?:sk|pk|rk|key|ghp|gsk|xai|AIza)[-_A-Za-z0-9*.]{12,}/g,
  /\bbearer\s+[\w.~+/=-]+/gi,
  /\b(?:x-api-key|x-goog-api-key|authorization|api[-_ ]?key)["']?\s*[:=]\s*["']?[^\s"',}]+/gi,
  /([?&](?:key|api_key|apikey|token|access_token)=)[^&\s"']+/gi,
  /\/\/[^/\s@]+@/g,
  /\beyJ[\w-]{8,}(?:\.[\w-]+)*/g,
]

const placeholder = '[removed]'
const maxLength = 200

/** Makes a message of a provider safe to store and to show. The result has no keys, one line and at most 200 characters. */
export function redact(text: string, secrets: readonly string[]): string {
  const withoutKnown = secrets.filter((secret) => secret.length >= 4).reduce((left, secret) => left.replaceAll(secret, placeholder), text)
  const clean = keyPatterns.reduce((left, pattern) => left.replace(pattern, placeholder), withoutKnown)
  return ellipsize(clean.replace(/\s+/g, ' ').trim(), maxLength)
}

/** An identifier that a provider sent, such as an error code or a model id. Undefined when it has unusual characters or may be a key. */
export function safeName(value: unknown, secrets: readonly string[]): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const name = String(value)
  return /^[\w.:@/-]{1,128}$/.test(name) && redact(name, secrets) === name ? name : undefined
}
