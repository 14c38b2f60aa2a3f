import type { CacheRowView } from 'daybook/client'
import { formatCount, formatMoney } from './figures.ts'

type Miss = NonNullable<CacheRowView['miss']>

/** A cache miss in one sentence, such as "System text changed: 1,761 tokens paid again, $0.005." */
export function missSentence({ cause, tokens, money }: Pick<Miss, 'cause' | 'tokens' | 'money'>): string {
  const paid = notAgain.has(cause) ? 'paid in full' : 'paid again'
  return `${capital(causeWords[cause] ?? cause)}: ${formatCount(tokens)} tokens ${paid}, ${formatMoney(money)}.`
}

/**
 * With these causes, the tokens were not in the cache before. So the sentence says that they are paid in full, and not that they are paid
 * again.
 */
const notAgain: ReadonlySet<string> = new Set(['below minimum', 'mark limit', 'not reported'])

const causeWords: Readonly<Record<string, string>> = {
  'model switch': 'another model was asked',
  'dialect switch': 'the model was asked in another dialect',
  'tool text changed': 'the list of tools changed',
  'ttl gap': 'the pause before this call was too long',
  hide: 'a block was hidden',
  reveal: 'a hidden block was shown again',
  expiry: 'old blocks were hidden',
  compaction: 'the conversation was summarised',
  'feedback inserted': 'feedback was inserted into an old turn',
  'rendered differently': 'a block was rendered differently',
  'look-back exceeded': 'a round added too many parts',
  'mark limit': 'too many cache marks',
  'below minimum': 'the prompt was too short to be cached',
  'not reported': 'the provider did not report how it used its cache',
  'dropped by provider': 'the provider dropped its cache',
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
