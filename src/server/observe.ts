import type { AgentParts } from '../agent/agent.ts'
import type { Usage } from '../core/timeline/change.ts'
import type { Metrics } from './metrics.ts'

/** What the numbers mean, for whoever reads them. */
export const metricsHelp: Readonly<Record<string, string>> = {
  daybook_requests_total: 'Requests by method and status',
  daybook_request_seconds: 'From the head of a request to the head of its answer',
  daybook_followers: 'Event streams that are open',
  daybook_running_turns: 'Conversations that are being worked on',
  daybook_turns_total: 'Turns that ended, by the reason they ended for',
  daybook_rounds_total: 'Decisions of a model',
  daybook_tokens_total: 'Tokens that were billed, by bucket',
}

/** Counts what the agent enters. Given to the agent as it is made; the server shows the same metrics. */
export function observe(metrics: Metrics): Required<Pick<AgentParts, 'onEntry'>> {
  return {
    onEntry(_conversation, { change }) {
      if (change.type === 'turn.closed') metrics.count('daybook_turns_total', { exit_reason: change.exit_reason })
      if (change.type !== 'response.received') return
      if (change.role === undefined) metrics.count('daybook_rounds_total')
      if (change.usage) countTokens(metrics, change.usage)
    },
  }
}

function countTokens(metrics: Metrics, { uncached, cache_read, cache_write, output }: Usage): void {
  for (const [bucket, tokens] of Object.entries({ uncached, cache_read, cache_write, output })) {
    metrics.count('daybook_tokens_total', { bucket }, tokens)
  }
}
