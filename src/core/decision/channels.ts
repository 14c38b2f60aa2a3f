import type { Channel } from '../stream/channel.ts'

/**
 * The channels of a decision, in the order in which they are to be written. An answer is plain markdown, so that nothing in
 * it has to be escaped; code is raw, so that a program may speak of tags.
 */
export const decisionChannels: readonly Channel[] = [
  { name: 'thinking', format: 'markdown' },
  { name: 'action', aliases: ['ReactDecisionOutV2', 'decision'], format: 'json' },
  { name: 'code', format: 'text', raw: true },
  { name: 'answer', format: 'markdown' },
  { name: 'followup', format: 'json' },
  { name: 'usage', format: 'json' },
]
