import { parseJson } from '../../core/json.ts'
import { endsTurnStream, type Format, type FormatContext, type Frame } from './format.ts'
import { createEventSimplifier, type SimplifiedEvent } from './simplified-events.ts'

/**
 * The UI message stream of the AI SDK. In its terms a turn is one assistant message. The stream ends with the turn, and also when the turn
 * waits. For a call that waits for a person, the stream contains a part `tool-approval-request`.
 */
export function createUiMessageFormat({ sources, resourceUrl }: FormatContext): Format {
  const simplify = createEventSimplifier(sources)

  function messageParts(event: SimplifiedEvent): readonly object[] {
    switch (event.kind) {
      case 'turn.start':
        return [{ type: 'start', messageId: event.turnId }]
      case 'text': {
        const { id, text: delta, first } = event
        const lane = event.of === 'answer' ? 'text' : 'reasoning'
        return [...(first ? [{ type: `${lane}-start`, id }] : []), { type: `${lane}-delta`, id, delta }]
      }
      case 'text.end':
        return [{ type: event.of === 'answer' ? 'text-end' : 'reasoning-end', id: event.id }]
      case 'call': {
        const { callId: toolCallId, toolId: toolName, params: input } = event
        return [
          { type: 'tool-input-start', toolCallId, toolName, dynamic: true },
          { type: 'tool-input-available', toolCallId, toolName, input, dynamic: true },
        ]
      }
      case 'result': {
        const { callId: toolCallId, text, failed } = event
        return failed
          ? [{ type: 'tool-output-error', toolCallId, errorText: text, dynamic: true }]
          : [{ type: 'tool-output-available', toolCallId, output: parseJson(text) ?? text, dynamic: true }]
      }
      case 'source': {
        const { sid, title, url } = event.page
        return [{ type: 'source-url', sourceId: String(sid), url, ...(title !== undefined && { title }) }]
      }
      case 'file':
        return [{ type: 'file', url: resourceUrl(event.rn), mediaType: event.mime }]
      case 'turn.wait':
        return [
          ...event.waits.flatMap(({ kind, wait_id: approvalId, call_id: toolCallId }) =>
            kind === 'approval' && toolCallId !== undefined ? [{ type: 'tool-approval-request', approvalId, toolCallId }] : [],
          ),
          { type: 'finish' },
        ]
      case 'turn.end':
        if (event.ok && event.stopped) return [{ type: 'abort' }, { type: 'finish', messageMetadata: { stopped: true } }]
        return event.ok ? [{ type: 'finish' }] : [{ type: 'error', errorText: 'The turn could not be finished.' }, { type: 'finish' }]
      default:
        return event satisfies never
    }
  }

  const done: Frame = { data: '[DONE]' }
  return {
    headers: { 'x-vercel-ai-ui-message-stream': 'v1' },
    openingFrames: () => [],
    framesOf: (event) =>
      simplify(event)
        .flatMap(messageParts)
        .map((data): Frame => ({ data })),
    endsAfter: endsTurnStream,
    closingFrames: (reason) => (reason === 'over' ? [done] : [{ data: { type: 'error', errorText: 'The stream was interrupted.' } }, done]),
  }
}
