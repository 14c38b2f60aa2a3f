import type { Format, FormatContext, Frame } from './format.ts'
import { createEventSimplifier, type SimplifiedEvent, turnIdOf } from './simplified-events.ts'

/** The AG-UI protocol: one run per turn, and the stream ends with it. */
export function createAgUiFormat({ conversationId, sources, resourceUrl }: FormatContext): Format {
  const narrate = createEventSimplifier(sources)
  const begun = new Set<string>()
  const answered = new Set<string>()
  let runId = ''
  let started = false

  const start = (id: string): readonly object[] => {
    started = true
    runId = id
    return [{ type: 'RUN_STARTED', threadId: conversationId, runId }]
  }

  function say(narration: SimplifiedEvent): readonly object[] {
    switch (narration.kind) {
      case 'turn.start':
        return start(narration.turnId)
      case 'text': {
        const { of, id: messageId, text: delta } = narration
        const first = !begun.has(messageId)
        begun.add(messageId)
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
        const { of, id: messageId } = narration
        if (of === 'answer') return [{ type: 'TEXT_MESSAGE_END', messageId }]
        return [
          { type: 'REASONING_MESSAGE_END', messageId },
          { type: 'REASONING_END', messageId },
        ]
      }
      case 'call': {
        const { callId: toolCallId, toolId, params } = narration
        return [
          { type: 'TOOL_CALL_START', toolCallId, toolCallName: toolId },
          { type: 'TOOL_CALL_ARGS', toolCallId, delta: JSON.stringify(params) },
          { type: 'TOOL_CALL_END', toolCallId },
        ]
      }
      case 'result': {
        const { callId: toolCallId, text: content } = narration
        if (answered.has(toolCallId)) return [] // one result per call is all it knows
        answered.add(toolCallId)
        return [{ type: 'TOOL_CALL_RESULT', messageId: `${toolCallId}.result`, toolCallId, content, role: 'tool' }]
      }
      case 'source': {
        const { sid, title = '', url } = narration.row
        return [{ type: 'CUSTOM', name: 'citation', value: { sid, title, url } }]
      }
      case 'file': {
        const { rn, mime, filename } = narration
        return [{ type: 'CUSTOM', name: 'file', value: { filename, mime, url: resourceUrl(rn) } }]
      }
      case 'turn.end': {
        const { ok, exitReason } = narration
        if (!ok) return [{ type: 'RUN_ERROR', message: 'The turn could not be finished.', code: exitReason }]
        return [{ type: 'RUN_FINISHED', threadId: conversationId, runId, result: { exit_reason: exitReason } }]
      }
      default:
        return narration satisfies never
    }
  }

  return {
    openingFrames: () => [],
    framesOf(event) {
      const narrated = narrate(event)
      const joined = !started && narrated.length > 0 && narrated[0]?.kind !== 'turn.start' // in the middle of a turn
      const opened = joined ? start(turnIdOf(event)) : []
      const said = [...opened, ...narrated.flatMap(say)]
      return said.map((data, index): Frame => {
        const last = index === said.length - 1
        return { data, ...(last && event.type === 'entry' && { id: event.seq }) }
      })
    },
    endsAfter: (event) => event.type === 'entry' && event.change.type === 'turn.closed',
    closingFrames: (why) =>
      why === 'over' || !started ? [] : [{ data: { type: 'RUN_ERROR', message: 'The stream was interrupted.', code: why } }],
  }
}
