import type { LanguageModelV3StreamPart, LanguageModelV4FinishReason, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { ModelEvent } from '../../core/model-event.ts'

type StreamPart = LanguageModelV4StreamPart | LanguageModelV3StreamPart
type CallEvent = Extract<ModelEvent, { type: 'call.start' | 'call.delta' | 'call.end' }>

interface ReceivedCall {
  readonly index: number
  /** Whether a piece of the arguments has arrived. */
  hasInput: boolean
  ended: boolean
}

/**
 * Converts the parts of a stream that belong to calls of tools. Packages differ in what they send:
 *
 *   start, deltas, end, tool-call    most packages, while the model writes the arguments
 *   tool-call                        packages that do not stream arguments
 *
 * The id of a call only connects the parts of one stream. Some servers send the same id for two calls. Therefore a part that begins a call
 * always begins a new one.
 */
export function createCallReader() {
  const byId = new Map<string, ReceivedCall>()
  let next = 0

  function begin(id: string, name: unknown): { readonly call: ReceivedCall; readonly event: CallEvent } {
    const call: ReceivedCall = { index: next++, hasInput: false, ended: false }
    byId.set(id, call)
    return { call, event: { type: 'call.start', index: call.index, name: typeof name === 'string' ? name : '' } }
  }

  function input(call: ReceivedCall, text: unknown): readonly CallEvent[] {
    if (typeof text !== 'string' || text === '') return []
    call.hasInput = true
    return [{ type: 'call.delta', index: call.index, text }]
  }

  function end(call: ReceivedCall): readonly CallEvent[] {
    if (call.ended) return []
    call.ended = true
    return [{ type: 'call.end', index: call.index }]
  }

  return {
    eventsOf(part: StreamPart): readonly CallEvent[] {
      switch (part.type) {
        case 'tool-input-start':
          return part.providerExecuted ? [] : [begin(part.id, part.toolName).event]
        case 'tool-input-delta': {
          const call = byId.get(part.id)
          return call && !call.ended ? input(call, part.delta) : []
        }
        case 'tool-input-end': {
          const call = byId.get(part.id)
          // if no piece of the arguments has arrived, `tool-call` will contain all arguments
          return call?.hasInput ? end(call) : []
        }
        case 'tool-call': {
          if (part.providerExecuted) return []
          const known = byId.get(part.toolCallId)
          byId.delete(part.toolCallId)
          if (known) return [...(known.hasInput ? [] : input(known, part.input)), ...end(known)]
          const { call, event } = begin(part.toolCallId, part.toolName)
          byId.delete(part.toolCallId)
          return [event, ...input(call, part.input), ...end(call)]
        }
        default:
          return []
      }
    },
    /** The event for a call without a name: the provider reports only that the model wrote an invalid call. */
    nameless: (): CallEvent => ({ type: 'call.start', index: next++, name: '' }),
  }
}

/** The finish reasons of Google for a response in which the model tried to call a tool but wrote an invalid call. */
const malformedCallReasons: ReadonlySet<string | undefined> = new Set(['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL'])

/** Whether the response ended because the model wrote a call that the provider could not read. The model can then try again. */
export const isMalformedCall = ({ finishReason }: { readonly finishReason?: Partial<LanguageModelV4FinishReason> }): boolean =>
  malformedCallReasons.has(finishReason?.raw)
