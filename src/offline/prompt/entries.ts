import type { BinaryPart } from '../../core/render/types.ts'

/** One block of the prompt, as far as it can be told from what is shown. */
export type PromptEntry =
  | { readonly kind: 'turn'; readonly turnId: string }
  | { readonly kind: 'said'; readonly how: 'message' | 'followup' | 'steer'; readonly text: string }
  | { readonly kind: 'attached'; readonly name: string; readonly mime: string; readonly path: string }
  | { readonly kind: 'text'; readonly path: string; readonly text: string }
  | { readonly kind: 'bytes'; readonly path: string | undefined; readonly part: BinaryPart }
  | { readonly kind: 'folded'; readonly path: string; readonly mime: string | undefined }
  | { readonly kind: 'answered'; readonly text: string }
  | { readonly kind: 'note'; readonly text: string }
  | { readonly kind: 'summary'; readonly text: string }
  | { readonly kind: 'called'; readonly callId: string; readonly toolId: string; readonly params: string }
  | ResultEntry
  | { readonly kind: 'noticed'; readonly code: string }

export interface ResultEntry {
  readonly kind: 'result'
  readonly form: 'summary' | 'artifact' | 'result' | 'pruned'
  readonly callId: string
  readonly toolId: string
  readonly path: string | undefined
  /** Which of the round's images and documents it is, from 1. */
  readonly shown: number | undefined
  readonly body: string
}
