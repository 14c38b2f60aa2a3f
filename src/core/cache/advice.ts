import type { MissCause } from './misses.ts'

/**
 * What people can do about a cache miss. If `avoidable` is true, a change of the set-up prevents such misses. Other misses can not be
 * avoided, for example those after a compaction.
 */
interface MissAdvice {
  readonly avoidable: boolean
  readonly advice: string
}

const adviceByCause: { readonly [C in MissCause]: MissAdvice } = {
  'model switch': {
    avoidable: true,
    advice: 'Ask one model in a conversation. Each model has a cache of its own, and the whole prompt is paid again after a switch.',
  },
  'dialect switch': { avoidable: false, advice: 'Set `dialect` to one value, so that all processes ask the model in the same way.' },
  'system text changed': {
    avoidable: true,
    advice: 'Keep dates, names and other values that change out of the instructions. `daybook cachelint` finds them.',
  },
  'tool text changed': {
    avoidable: true,
    advice: 'Give the agent the same tools in the same order in every turn, with the same descriptions.',
  },
  'ttl gap': {
    avoidable: false,
    advice: 'The pause was longer than the provider keeps its cache. A longer time to live costs more per write.',
  },
  hide: {
    avoidable: false,
    advice: 'The agent made its prompt shorter. What follows the hidden block is paid once more, and less from then on.',
  },
  reveal: { avoidable: false, advice: 'The agent looked at a hidden block again. What follows the block is paid once more.' },
  expiry: {
    avoidable: false,
    advice:
      'Old blocks were hidden while the provider still had its cache. Set `expiry.ttlSeconds` to the time that the provider keeps it.',
  },
  compaction: { avoidable: false, advice: 'The conversation was summarised to fit into the context. Prompts are shorter from here on.' },
  'feedback inserted': {
    avoidable: true,
    advice:
      'Feedback on an old turn changes the middle of the prompt. With the setting `expiry.ttlSeconds` it waits until the cache is cold.',
  },
  'timeline imported': { avoidable: false, advice: 'The conversation was imported, so the provider has not seen this prompt before.' },
  'rendered differently': {
    avoidable: true,
    advice: 'Another version of Daybook, or of a block renderer, writes this block differently. Run one version for a conversation.',
  },
  'look-back exceeded': { avoidable: true, advice: 'Too many parts came at once. Send fewer messages and images in one round.' },
  'mark limit': {
    avoidable: true,
    advice: 'The request has more cache marks than the provider takes. Lower the marks in the setting `cache`.',
  },
  'below minimum': { avoidable: false, advice: 'The provider keeps only longer prompts. This becomes better as the conversation grows.' },
  'not reported': {
    avoidable: false,
    advice: 'The provider did not report the use of its cache, or the call was cut off. The numbers are an estimate.',
  },
  'dropped by provider': {
    avoidable: false,
    advice: 'Nothing changed on this side. The provider removed the prompt from its cache early.',
  },
}

export const missAdvice = (cause: MissCause): MissAdvice => adviceByCause[cause]
