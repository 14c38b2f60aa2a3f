/** One line of JSON per event. Secrets never get in: values under telling names, and what looks like a token, are taken out. */
export type Log = (level: 'info' | 'warn' | 'error', event: string, facts?: Readonly<Record<string, unknown>>) => void

const tellingName = /authorization|cookie|token|secret|password|api[-_]?key|signature/i
const tokenShape = /\b(?:Bearer\s+[\w.~+/=-]{8,}|sk-[\w-]{8,}|eyJ[\w-]{8,}\.[\w-]+\.[\w-]*|AKIA[A-Z0-9]{12,})/g
const taken = '[redacted]'

export function createLog(write: (line: string) => void, now: () => string): Log {
  return (level, event, facts = {}) => write(`${JSON.stringify({ ts: now(), level, event, ...(redacted(facts) as object) })}\n`)
}

export const noLog: Log = () => {}

export function redacted(value: unknown, name = '', depth = 0): unknown {
  if (tellingName.test(name) && value !== undefined && value !== null) return taken
  if (typeof value === 'string') return value.replace(tokenShape, taken)
  if (value instanceof Error) return { name: value.name, message: value.message.replace(tokenShape, taken) }
  if (typeof value !== 'object' || value === null) return value
  if (depth > 6) return '…'
  if (Array.isArray(value)) return value.map((item) => redacted(item, name, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redacted(item, key, depth + 1)]))
}
