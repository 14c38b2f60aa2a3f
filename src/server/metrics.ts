import type { AgentParts } from '../agent/agent.ts'
import type { Change } from '../core/timeline/change.ts'
import type { Usage } from '../core/timeline/response-record.ts'

/** Counters, gauges and histograms in the text format of Prometheus. */
export interface Metrics {
  count(name: string, labels?: Labels, by?: number): void
  observe(name: string, seconds: number, labels?: Labels): void
  /** `value` is called each time the metrics are read. While it returns undefined, the gauge is left out. */
  gauge(name: string, value: () => number | undefined, labels?: Labels): void
  text(): string
}

/** The labels of a metric, by name. */
export type Labels = Readonly<Record<string, string | number>>

const bucketBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const

interface Histogram {
  readonly counts: number[]
  sum: number
  total: number
}

/** Creates metrics in memory. `help` contains a description for the name of each metric. */
export function createMetrics(help: Readonly<Record<string, string>>): Metrics {
  const counters = new Map<string, Map<string, number>>()
  const histograms = new Map<string, Map<string, Histogram>>()
  const gauges = new Map<string, { readonly value: () => number | undefined; readonly labels: string }>()

  return {
    count(name, labels = {}, by = 1) {
      const series = getOrCreate(counters, name, () => new Map())
      const key = labelText(labels)
      series.set(key, (series.get(key) ?? 0) + by)
    },
    observe(name, seconds, labels = {}) {
      const series = getOrCreate(histograms, name, () => new Map<string, Histogram>())
      const histogram = getOrCreate(series, labelText(labels), () => ({ counts: bucketBounds.map(() => 0), sum: 0, total: 0 }))
      histogram.sum += seconds
      histogram.total += 1
      bucketBounds.forEach((bound, index) => {
        if (seconds <= bound) histogram.counts[index] = (histogram.counts[index] ?? 0) + 1
      })
    },
    gauge: (name, value, labels = {}) => void gauges.set(name, { value, labels: labelText(labels) }),
    text() {
      const head = (name: string, type: string) => `# HELP ${name} ${help[name] ?? name}\n# TYPE ${name} ${type}\n`
      const lines: string[] = []
      for (const [name, series] of counters) {
        lines.push(head(name, 'counter'), ...[...series].map(([labels, value]) => `${name}${braces(labels)} ${value}\n`))
      }
      for (const [name, { value, labels }] of gauges) {
        const current = value()
        if (current !== undefined) lines.push(head(name, 'gauge'), `${name}${braces(labels)} ${numberText(current)}\n`)
      }
      for (const [name, series] of histograms) {
        lines.push(head(name, 'histogram'))
        for (const [labels, { counts, sum, total }] of series) {
          const bucket = (bound: string) => `${name}_bucket${braces([labels, `le="${bound}"`].filter((part) => part !== '').join(','))}`
          lines.push(...bucketBounds.map((bound, index) => `${bucket(String(bound))} ${counts[index]}\n`))
          lines.push(`${bucket('+Inf')} ${total}\n`, `${name}_sum${braces(labels)} ${sum}\n`, `${name}_count${braces(labels)} ${total}\n`)
        }
      }
      return lines.join('')
    },
  }
}

function getOrCreate<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key)
  if (value === undefined) {
    value = make()
    map.set(key, value)
  }
  return value
}

/** A number in the format of Prometheus. */
const numberText = (value: number) => (value === Number.POSITIVE_INFINITY ? '+Inf' : String(value))

const braces = (labels: string) => (labels === '' ? '' : `{${labels}}`)

const labelText = (labels: Labels) =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${String(value).replace(/[\\"\n]/g, (c) => (c === '\n' ? '\\n' : `\\${c}`))}"`)
    .join(',')

/** The descriptions of all metrics that the server and the agent count. */
export const metricsHelp: Readonly<Record<string, string>> = {
  daybook_requests_total: 'Requests by method and status',
  daybook_request_seconds: 'Time from the headers of a request to the headers of its response',
  daybook_followers: 'Open event streams',
  daybook_downloads: 'Open downloads of files',
  daybook_running_turns: 'Conversations with a running turn',
  daybook_turns_total: 'Turns that ended, by exit reason',
  daybook_rounds_total: 'Rounds: responses of the model in turns, without responses for titles and summaries',
  daybook_tokens_total: 'Billed tokens, by bucket',
  daybook_replica_info: 'The process that answers, and its role. The value is always 1',
  daybook_store_metrics: '1 if the store could be read. If it is 0, the metrics about its budgets and its work are left out',
  daybook_budget_day_tokens_left: 'Tokens that the budget of the day has left, or +Inf without a limit',
  daybook_budget_day_money_left: 'Money that the budget of the day has left, or +Inf without a limit',
  daybook_work_waiting: 'Conversations with work that no process runs, in the whole store',
  daybook_work_longest_wait_seconds: 'How long the conversation that has waited longest for a process has waited',
  daybook_work_running: 'Conversations with work that a process runs, in the whole store',
  daybook_work_parked: 'Conversations whose turns failed too often',
  daybook_oldest_lease_seconds:
    'The longest time since the lease of a running conversation was renewed. A process that works renews it every 10 seconds',
  daybook_event_delay_seconds: 'Time from the moment a message or event was sent until a turn has read it',
}

/** Counts turns, rounds and tokens. Spread the result into the options of an agent, and give the same `metrics` to the server. */
export function observe(metrics: Metrics, nowMs: () => number = Date.now): Required<Pick<AgentParts, 'onEntry'>> {
  const noteEvent = createDelayMetric(metrics, nowMs)
  return {
    onEntry(conversation, { change }) {
      noteEvent(conversation, change)
      if (change.type === 'turn.closed') metrics.count('daybook_turns_total', { exit_reason: change.exit_reason })
      if (change.type !== 'response.received') return
      if (change.role === undefined) metrics.count('daybook_rounds_total')
      if (change.usage) countTokens(metrics, change.usage)
    },
  }
}

/** For how many waiting events the arrival time is kept. If more events wait, the delays of the oldest events are not measured. */
const MAX_WAITING_EVENTS = 10_000

/** Measures how long events wait until a turn reads them. */
function createDelayMetric(metrics: Metrics, nowMs: () => number): (conversationId: string, change: Change) => void {
  const sentAt = new Map<string, number>()
  return (conversationId, change) => {
    if (change.type === 'event.accepted') {
      if (sentAt.size >= MAX_WAITING_EVENTS) sentAt.delete(sentAt.keys().next().value as string) // the map is not empty
      sentAt.set(`${conversationId} ${change.event.event_id}`, Date.parse(change.event.ts))
    } else if (change.type === 'event.folded') {
      for (const id of change.event_ids) {
        const key = `${conversationId} ${id}`
        const at = sentAt.get(key)
        sentAt.delete(key)
        if (at !== undefined && change.turn_id !== null) metrics.observe('daybook_event_delay_seconds', Math.max(0, nowMs() - at) / 1000)
      }
    }
  }
}

function countTokens(metrics: Metrics, { uncached, cache_read, cache_write, output }: Usage): void {
  for (const [bucket, tokens] of Object.entries({ uncached, cache_read, cache_write, output })) {
    metrics.count('daybook_tokens_total', { bucket }, tokens)
  }
}
