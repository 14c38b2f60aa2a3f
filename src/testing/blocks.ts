import {
  assistantCompletion,
  type Block,
  blockId,
  type Draft,
  type Place,
  toolCall,
  toolResult,
  turnHeader,
  userPrompt,
} from '../core/block/index.ts'

/** Builders for tests: short, with the boring parts filled in. Times are minutes of one fixed day. */
export const minute = (n: number): string => new Date(Date.UTC(2026, 0, 1, 0, n)).toISOString()

/** Numbers drafts from `first` on. */
export const withIds = (drafts: readonly Draft[], first = 1): readonly Block[] =>
  drafts.map((draft, index) => ({ id: blockId(first + index), ...draft }))

export const blockOrigin = (callId: string, turnId = 't1', iteration = 0): Place => ({ turnId, callId, iteration, ts: minute(iteration) })

export const header = (turnId = 't1', at = 0): Draft => turnHeader(turnId, minute(at))
export const prompt = (text: string, turnId = 't1', at = 0): Draft => userPrompt(turnId, minute(at), text)
export const call = (callId: string, toolId = 'web_tools.web_search', turnId = 't1', iteration = 0): Draft =>
  toolCall(blockOrigin(callId, turnId, iteration), { toolId, params: { query: callId } })
export const result = (callId: string, text: string, turnId = 't1', iteration = 0): Draft =>
  toolResult(blockOrigin(callId, turnId, iteration), { mime: 'text/markdown', text })
export const completion = (text: string, turnId = 't1', at = 0): Draft => assistantCompletion(turnId, minute(at), { text })

/** `R(n)` of the specs: header, prompt, then a call and its result per round. */
export const rounds = (count: number, turnId = 't1'): readonly Draft[] => [
  header(turnId),
  prompt(`do ${turnId}`, turnId),
  ...Array.from({ length: count }, (_, i) => [
    call(`${turnId}c${i}`, 'web_tools.web_search', turnId, i),
    result(`${turnId}c${i}`, `result ${i} of ${turnId}`, turnId, i),
  ]).flat(),
]
