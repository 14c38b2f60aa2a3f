import type { JsonObject } from '../../core/json.ts'

/** What is done in a round. */
export type Decision =
  | {
      readonly kind: 'call'
      readonly thinking: string
      readonly notes: string
      readonly toolId: string
      readonly params: JsonObject
      readonly code?: string
    }
  | { readonly kind: 'answer'; readonly thinking: string; readonly text: string; readonly followups: readonly string[] }

export const answer = (thinking: string, text: string, followups: readonly string[] = []): Decision => ({
  kind: 'answer',
  thinking,
  text,
  followups: followups.slice(0, 3),
})
