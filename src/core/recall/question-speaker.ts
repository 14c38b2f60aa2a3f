const user: ReadonlySet<string> = new Set('i me my mine myself we us our ours'.split(' '))
const agent: ReadonlySet<string> = new Set('you your yours'.split(' '))
/** Before `you`, these words ask for something now: `can you tell me`. */
const requests: ReadonlySet<string> = new Set('can could would will do are thank if please'.split(' '))

/**
 * Whose words an English question asks for: `which tent did I buy` asks for what the user said, and `which tent did you recommend` for what
 * the agent said. `words` are the words of the question in lower case.
 */
export function speakerOf(words: readonly string[]): 'user' | 'assistant' | undefined {
  if (words.some((word, at) => agent.has(word) && !requests.has(words[at - 1] ?? ''))) return 'assistant'
  return words.some((word) => user.has(word)) ? 'user' : undefined
}
