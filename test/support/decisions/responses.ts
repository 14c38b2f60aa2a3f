import type { ParsedResponse, ReceivedChannel } from '../../../src/core/decision/decision.ts'

/** A parsed response with these channels, `[name, text]`, in order. If a name occurs twice, the channel was opened twice. */
export function responseOf(channels: readonly (readonly [string, string])[], rest: Partial<ParsedResponse> = {}): ParsedResponse {
  const names = [...new Set(channels.map(([name]) => name))]
  const cut = rest.finishReason !== undefined && rest.finishReason !== 'stop'
  const received = names.map((name, index): ReceivedChannel => {
    const instances = channels.filter(([other]) => other === name).map(([, text]) => text)
    return { name, instances, closed: cut && index === names.length - 1 ? 'cut' : 'tag' }
  })
  const raw = channels.map(([name, text]) => `<channel:${name}>${text}</channel:${name}>`).join('\n')
  return { channels: received, preamble: '', finishReason: 'stop', maxTokens: 20_000, raw, ...rest }
}

/** A parsed response with thinking, this action, and then the given channels. */
export const decided = (action: unknown, ...after: readonly (readonly [string, string])[]): ParsedResponse =>
  responseOf([['thinking', 'Let me see.'], ['action', typeof action === 'string' ? action : JSON.stringify(action)], ...after])
