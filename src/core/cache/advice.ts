import type { MissCause } from './misses.ts'

/**
 * What people can do about a cache miss. If `avoidable` is true, a change in the configuration or use of the agent prevents such misses.
 * Other misses can not be avoided, for example those after a compaction.
 */
interface MissAdvice {
  readonly avoidable: boolean
  readonly advice: string
}

const adviceByCause: { readonly [C in MissCause]: MissAdvice } = {
  'model switch': {
    avoidable: true,
    advice: 'Use only one model in a conversation. Each model has a cache of its own, so the whole prompt is paid again after a switch.',
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
    advice: 'The pause before this call was longer than the provider keeps its cache. A longer caching time costs more per cache write.',
  },
  hide: {
    avoidable: false,
    advice: 'The agent hid a block to make its prompt shorter. The prompt after this block is paid once more. Later prompts cost less.',
  },
  reveal: { avoidable: false, advice: 'The agent made a hidden block visible again. The prompt after this block is paid once more.' },
  expiry: {
    avoidable: false,
    advice:
      'Old blocks were hidden while the provider still had them in its cache. Set `expiry.ttlSeconds` to the time that the provider keeps its cache.',
  },
  compaction: { avoidable: false, advice: 'The conversation was summarised to fit into the context. Prompts are shorter from here on.' },
  'feedback inserted': {
    avoidable: true,
    advice:
      'Feedback on an old turn changes the middle of the prompt. Set `expiry.ttlSeconds` to the time that the provider keeps its cache: then feedback is inserted only after the cache has expired.',
  },
  'timeline imported': { avoidable: false, advice: 'The conversation was imported, so the provider has not seen this prompt before.' },
  'rendered differently': {
    avoidable: true,
    advice: 'Another version of Daybook, or of a block renderer, writes this block differently. Run one version for a conversation.',
  },
  'look-back exceeded': {
    avoidable: true,
    advice: 'One round added too many parts to the prompt. Send fewer messages and images in one round.',
  },
  'mark limit': {
    avoidable: true,
    advice: 'The request had more cache marks than the provider accepts. Correct `maxMarks` in the rules of the provider.',
  },
  'below minimum': {
    avoidable: false,
    advice: 'The provider caches only longer prompts. Prompts will be cached when the conversation is longer.',
  },
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
