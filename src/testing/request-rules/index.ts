import { anthropicProblems } from './anthropic.ts'
import { googleProblems } from './google.ts'
import { chatProblems, responsesProblems } from './openai.ts'

/**
 * The documented rules of each provider for the body of a request. The fake providers refuse a request that breaks a rule, as the real
 * providers do. Daybook sends no assistant message, no tool call and no thinking back to a provider. So it can not break most of these
 * rules. The checks would notice if Daybook began to send such content.
 */
export const requestRules = {
  anthropic: anthropicProblems,
  openai: responsesProblems,
  google: googleProblems,
  compatible: chatProblems,
} as const
