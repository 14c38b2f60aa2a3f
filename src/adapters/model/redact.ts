/** Forms in which keys are known to travel. What we hold ourselves is looked for by value, whatever its form. */
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

/** A provider's own words, fit to be stored and shown: without anything that may be a key, in one line, not long. */
export function redact(text: string, known: readonly string[]): string {
  const without = known.filter((secret) => secret.length >= 4).reduce((left, secret) => left.replaceAll(secret, placeholder), text)
  const clean = keyPatterns.reduce((left, pattern) => left.replace(pattern, placeholder), without)
  const line = clean.replace(/\s+/g, ' ').trim()
  return line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line
}

/** A name that a provider gives to something: plain letters, and no secret in disguise; else nothing. */
export function safeName(value: unknown, known: readonly string[]): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const name = String(value)
  return /^[\w.:@/-]{1,128}$/.test(name) && redact(name, known) === name ? name : undefined
}
