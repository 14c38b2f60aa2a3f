const user: ReadonlySet<string> = new Set('i me my mine myself we us our ours'.split(' '))
const agent: ReadonlySet<string> = new Set('you your yours'.split(' '))
/** If one of these words is directly before `you`, as in `can you tell me`, the question does not ask what the agent said earlier. */
const requests: ReadonlySet<string> = new Set('can could would will do are thank if please'.split(' '))

/**
 * Whether an English question asks for words of the user or of the agent. `which tent did I buy` asks for words of the user, and `which
 * tent did you recommend` for words of the agent. `words` are the words of the question in lower case.
 */
export function speakerOf(words: readonly string[]): 'user' | 'assistant' | undefined {
  if (words.some((word, at) => agent.has(word) && !requests.has(words[at - 1] ?? ''))) return 'assistant'
  return words.some((word) => user.has(word)) ? 'user' : undefined
}
