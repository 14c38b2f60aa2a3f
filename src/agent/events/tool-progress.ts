import type { BlockOrigin } from '../../core/block/index.ts'
import { redact } from '../../core/secrets.ts'
import { plainLine } from '../../tools/mcp/plain-text.ts'
import type { LiveFeed } from './event-hub.ts'

/** How often clients get a new line of one call. A tool may report far more often. */
const INTERVAL_MS = 1_000
const MAX_LINE = 200

/** The line that clients see while a tool runs. */
export interface ProgressLine {
  /** Replaces the line. If the line was replaced less than `INTERVAL_MS` ago, clients get the latest text when this time is over. */
  show(text: string): void
  /** Called when the call has ended: a line that waits is not shown any more. */
  end(): void
}

/**
 * Makes the line of progress of one call. The texts may come from outside, such as from an MCP server, so each text is shortened to one
 * line.
 */
export function createProgressLine(
  live: Pick<LiveFeed, 'emit'>,
  { origin, tool }: { readonly origin: BlockOrigin; readonly tool: { readonly id: string } },
): ProgressLine {
  const { turnId: turn_id, iteration, callId: call_id } = origin
  let shown: string | undefined
  let next: string | undefined
  let pause: NodeJS.Timeout | undefined

  function emitNext(): void {
    pause = undefined
    const line = next === undefined ? '' : redact(plainLine(next, MAX_LINE))
    next = undefined
    if (line === '' || line === shown) return
    shown = line
    pause = setTimeout(emitNext, INTERVAL_MS).unref()
    live.emit({ type: 'status', turn_id, iteration, status: 'tool.progress', tool_id: tool.id, call_id, text: line })
  }

  return {
    show(text) {
      if (typeof text !== 'string') return // a tool of the application may be written without types
      next = text
      if (!pause) emitNext()
    },
    end: () => clearTimeout(pause),
  }
}
