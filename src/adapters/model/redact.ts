import { ellipsize } from '../../core/cut.ts'

/** Common forms of keys in text. The keys that we know are removed by value, whatever their form. */
const keyPatterns: readonly RegExp[] = [
  /\b(?:sk|pk|rk|key|ghp|gsk|xai|AIza)[-_A-Za-z0-9*.]{12,}/g,
  /\bbearer\s+[\w.~+/=-]+/gi,
  /\b(?:x-api-key|x-goog-api-key|authorization|api[-_ ]?key)["']?\s*[:=]\s*["']?[^\s"',}]+/gi,
  /([?&](?:key|api_key|apikey|token|access_token)=)[^&\s"']+/gi,
  /\/\/[^/\s@]+@/g,
  /\beyJ[\w-]+\.[\w-]+\.[\w-]+/g,
]

const placeholder = '[removed]'
const maxLength = 200

/** A provider's message made safe to store and to show: without keys, on one line, at most 200 characters. */
export function redact(text: string, secrets: readonly string[]): string {
  const withoutKnown = secrets.filter((secret) => secret.length >= 4).reduce((left, secret) => left.replaceAll(secret, placeholder), text)
  const clean = keyPatterns.reduce((left, pattern) => left.replace(pattern, placeholder), withoutKnown)
  return ellipsize(clean.replace(/\s+/g, ' ').trim(), maxLength)
}

/** An identifier that a provider sent (an error code, a model id), or undefined when it has unusual characters or may be a key. */
export function safeName(value: unknown, secrets: readonly string[]): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const name = String(value)
  return /^[\w.:@/-]{1,128}$/.test(name) && redact(name, secrets) === name ? name : undefined
}
