/** Forms in which keys are known to travel. What we hold ourselves is looked for by value, whatever its form. */
const secrets: readonly RegExp[] = [
  /\b(?:sk|pk|rk|key|ghp|gsk|xai|AIza)[-_A-Za-z0-9*.]{12,}/g,
  /\bbearer\s+[\w.~+/=-]+/gi,
  /\b(?:x-api-key|x-goog-api-key|authorization|api[-_ ]?key)["']?\s*[:=]\s*["']?[^\s"',}]+/gi,
  /([?&](?:key|api_key|apikey|token|access_token)=)[^&\s"']+/gi,
  /\/\/[^/\s@]+@/g,
  /\beyJ[\w-]+\.[\w-]+\.[\w-]+/g,
]

const mark = '[removed]'
const longest = 200

/** A provider's own words, fit to be stored and shown: without anything that may be a key, in one line, not long. */
export function redacted(text: string, known: readonly string[]): string {
  const without = known.filter((secret) => secret.length >= 4).reduce((left, secret) => left.replaceAll(secret, mark), text)
  const clean = secrets.reduce((left, pattern) => left.replace(pattern, mark), without)
  const line = clean.replace(/\s+/g, ' ').trim()
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line
}

/** A name that a provider gives to something: plain letters, and no secret in disguise; else nothing. */
export function nameOnly(value: unknown, known: readonly string[]): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const name = String(value)
  return /^[\w.:@/-]{1,128}$/.test(name) && redacted(name, known) === name ? name : undefined
}
