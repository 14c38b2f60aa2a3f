import { parseJson } from '../../core/json.ts'
import type { Format, FormatContext, Frame } from './format.ts'
import { createEventSimplifier, type SimplifiedEvent, turnIdOf } from './simplified-events.ts'

/** The UI message stream of the AI SDK: one assistant message per turn, and the stream ends with it. */
export function createUiMessageFormat({ sources, resourceUrl }: FormatContext): Format {
  const narrate = createEventSimplifier(sources)
  const begun = new Set<string>()
  const answered = new Set<string>()
  let started = false

  const start = (messageId: string): readonly object[] => {
    started = true
    return [{ type: 'start', messageId }]
  }

  function say(narration: SimplifiedEvent): readonly object[] {
    switch (narration.kind) {
      case 'turn.start':
        return start(narration.turnId)
      case 'text': {
        const { id, text: delta } = narration
        const lane = narration.of === 'answer' ? 'text' : 'reasoning'
        const first = !begun.has(id)
        begun.add(id)
        return [...(first ? [{ type: `${lane}-start`, id }] : []), { type: `${lane}-delta`, id, delta }]
      }
      case 'text.end':
        return [{ type: narration.of === 'answer' ? 'text-end' : 'reasoning-end', id: narration.id }]
      case 'call': {
        const { callId: toolCallId, toolId: toolName, params: input } = narration
        return [
          { type: 'tool-input-start', toolCallId, toolName, dynamic: true },
          { type: 'tool-input-available', toolCallId, toolName, input, dynamic: true },
        ]
      }
      case 'result': {
        const { callId: toolCallId, text, failed } = narration
        if (answered.has(toolCallId)) return []
        answered.add(toolCallId)
        return failed
          ? [{ type: 'tool-output-error', toolCallId, errorText: text, dynamic: true }]
          : [{ type: 'tool-output-available', toolCallId, output: parseJson(text) ?? text, dynamic: true }]
      }
      case 'source': {
        const { sid, title, url } = narration.row
        return [{ type: 'source-url', sourceId: String(sid), url, ...(title !== undefined && { title }) }]
      }
      case 'file':
        return [{ type: 'file', url: resourceUrl(narration.rn), mediaType: narration.mime }]
      case 'turn.end':
        return narration.ok ? [{ type: 'finish' }] : [{ type: 'error', errorText: 'The turn could not be finished.' }, { type: 'finish' }]
      default:
        return narration satisfies never
    }
  }

  const done: Frame = { data: '[DONE]' }
  return {
    headers: { 'x-vercel-ai-ui-message-stream': 'v1' },
    openingFrames: () => [],
    framesOf(event) {
      const narrated = narrate(event)
      const joined = !started && narrated.length > 0 && narrated[0]?.kind !== 'turn.start' // in the middle of a turn
      const opened = joined ? start(turnIdOf(event)) : []
      return [...opened, ...narrated.flatMap(say)].map((data): Frame => ({ data }))
    },
    endsAfter: (event) => event.type === 'entry' && event.change.type === 'turn.closed',
    closingFrames: (why) => (why === 'over' ? [done] : [{ data: { type: 'error', errorText: 'The stream was interrupted.' } }, done]),
  }
}
