/**
 * Writes one event to the log. The values of fields such as `authorization`, and text that looks like a token, are replaced by
 * `[redacted]`.
 */
export type Log = (level: 'info' | 'warn' | 'error', event: string, facts?: Readonly<Record<string, unknown>>) => void

const secretName = /authorization|cookie|token|secret|password|api[-_]?key|signature/i
const tokenPattern = /\b(?:Bearer\s+[\w.~+/=-]{8,}|sk-[\w-]{8,}|eyJ[\w-]{8,}(?:\.[\w-]+)*|AKIA[A-Z0-9]{12,})/g
const redactedText = '[redacted]'

/**
 * A log that writes each event as a line of JSON. The line ends with a line break, so `write` must not add another one. (`console.log`
 * would add one.)
 */
export function createLog(write: (line: string) => void, now: () => string = () => new Date().toISOString()): Log {
  return (level, event, facts = {}) => write(`${JSON.stringify({ ts: now(), level, event, ...(redact(facts) as object) })}\n`)
}

/** A log that discards every event. */
export const noLog: Log = () => {}

function redact(value: unknown, name = '', depth = 0): unknown {
  if (secretName.test(name) && value !== undefined && value !== null) return redactedText
  if (typeof value === 'string') return value.replace(tokenPattern, redactedText)
  if (value instanceof Error) return { name: value.name, message: value.message.replace(tokenPattern, redactedText) }
  if (typeof value !== 'object' || value === null) return value
  if (depth > 6) return '…'
  if (Array.isArray(value)) return value.map((item) => redact(item, name, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redact(item, key, depth + 1)]))
}
