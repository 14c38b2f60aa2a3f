import type { Wait } from '../../core/timeline/change.ts'
import { endsTurnStream, type Format, type FormatContext, type Frame } from './format.ts'
import { createPlacedSimplifier, type SimplifiedEvent } from './simplified-events.ts'

/**
 * How many numbers (`Frame.part`) are reserved for each simplified event of an entry. A simplified event has fewer frames than this. For
 * example, the frames of the event at place 2 get the numbers 17, 18 and so on. So the numbers ascend, and a frame has the same number in
 * every stream.
 */
const partsPerPlace = 8

/**
 * The AG-UI protocol. In its terms a turn is one run. The stream ends with the turn. If the turn waits, the run ends with an interrupt.
 */
export function createAgUiFormat({ conversationId, sources, resourceUrl }: FormatContext): Format {
  const simplify = createPlacedSimplifier(sources)
  let runId: string | undefined

  function protocolEvents(event: SimplifiedEvent): readonly object[] {
    switch (event.kind) {
      case 'turn.start':
        runId = event.turnId
        return [{ type: 'RUN_STARTED', threadId: conversationId, runId }]
      case 'text': {
        const { of, id: messageId, text: delta, first } = event
        return of === 'answer'
          ? [
              ...(first ? [{ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' }] : []),
              { type: 'TEXT_MESSAGE_CONTENT', messageId, delta },
            ]
          : [
              ...(first
                ? [
                    { type: 'REASONING_START', messageId },
                    { type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' },
                  ]
                : []),
              { type: 'REASONING_MESSAGE_CONTENT', messageId, delta },
            ]
      }
      case 'text.end': {
        const { of, id: messageId } = event
        if (of === 'answer') return [{ type: 'TEXT_MESSAGE_END', messageId }]
        return [
          { type: 'REASONING_MESSAGE_END', messageId },
          { type: 'REASONING_END', messageId },
        ]
      }
      case 'call': {
        const { callId: toolCallId, toolId, params } = event
        return [
          { type: 'TOOL_CALL_START', toolCallId, toolCallName: toolId },
          { type: 'TOOL_CALL_ARGS', toolCallId, delta: JSON.stringify(params) },
          { type: 'TOOL_CALL_END', toolCallId },
        ]
      }
      case 'result': {
        const { callId: toolCallId, text: content } = event
        return [{ type: 'TOOL_CALL_RESULT', messageId: `${toolCallId}.result`, toolCallId, content, role: 'tool' }]
      }
      case 'source': {
        const { sid, title = '', url } = event.page
        return [{ type: 'CUSTOM', name: 'citation', value: { sid, title, url } }]
      }
      case 'file': {
        const { rn, mime, filename } = event
        return [{ type: 'CUSTOM', name: 'file', value: { filename, mime, url: resourceUrl(rn) } }]
      }
      case 'turn.wait':
        return [
          {
            type: 'RUN_FINISHED',
            threadId: conversationId,
            runId,
            outcome: { type: 'interrupt', interrupts: event.waits.map(interruptOf) },
          },
        ]
      case 'turn.end': {
        const { ok, exitReason, stopped } = event
        if (!ok) return [{ type: 'RUN_ERROR', message: 'The turn could not be finished.', code: exitReason }]
        const outcome = stopped ? { outcome: { type: 'cancelled' } } : {}
        return [{ type: 'RUN_FINISHED', threadId: conversationId, runId, ...outcome, result: { exit_reason: exitReason } }]
      }
      default:
        return event satisfies never
    }
  }

  return {
    openingFrames: () => [],
    framesOf(event) {
      const seq = event.type === 'entry' ? event.seq : undefined
      const frames = simplify(event).flatMap((placed) => {
        let part = placed.place === undefined ? undefined : placed.place * partsPerPlace
        return protocolEvents(placed.event).map((data): Frame => {
          if (part === undefined || seq === undefined) return { data }
          return { id: seq, part: ++part, data }
        })
      })
      const last = frames.at(-1)
      return last === undefined || seq === undefined ? frames : [...frames.slice(0, -1), { id: seq, data: last.data }]
    },
    endsAfter: endsTurnStream,
    closingFrames: (reason) =>
      reason === 'over' || runId === undefined
        ? []
        : [{ data: { type: 'RUN_ERROR', message: 'The stream was interrupted.', code: reason } }],
  }
}

/**
 * A wait as an interrupt. The client answers the interrupt with a decision, or with a late result of the call, at the routes for decisions
 * and late results.
 */
const interruptOf = ({ wait_id: id, kind, question: message, call_id: toolCallId, expires_at: expiresAt }: Wait) => ({
  id,
  reason: kind === 'approval' ? 'tool_approval' : `daybook_${kind}`,
  ...(message !== undefined && { message }),
  ...(toolCallId !== undefined && { toolCallId }),
  ...(expiresAt !== undefined && { expiresAt }),
})
