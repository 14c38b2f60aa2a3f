import { isObject, type Json } from '../json.ts'
import { truncate } from './violations.ts'

/** What the model decided, once its response has been read: use a tool, or answer. */
export type Decision = CallDecision | FinalDecision

export interface CallDecision {
  readonly action: 'call_tool'
  /** For the user to read; may acknowledge steps of the current plan. */
  readonly notes: string
  readonly toolId: string
  /** As the model wrote them. `checkCall` says which of them the tool gets. */
  readonly params: Json
  /** Their names in the order of writing, repeated ones included: an object does not remember. */
  readonly paramKeys: readonly string[]
  /** The program for an exec tool. */
  readonly code?: string
}

export interface FinalDecision {
  readonly action: 'complete' | 'exit'
  readonly answer: string
  /** What the user may want to say next: at most six. */
  readonly followups: readonly string[]
  /** The answer was cut off by the output limit or by a filter. */
  readonly truncated: boolean
  /** What the answer asks, when the model marked it as a clarification. */
  readonly questions?: readonly string[]
}

/** The action object with its harmless variations ironed out. */
export interface ActionFields {
  /** Trimmed and lower-cased. */
  readonly action: string
  readonly notes: string
  /** Undefined when it says nothing. */
  readonly toolCall: { readonly toolId: string; readonly params: Json } | undefined
  readonly finalAnswer: string
  readonly followups: readonly string[]
  readonly questions: readonly string[]
}

const maxFollowups = 6
const maxFollowupLength = 300

/** Unknown keys are ignored; a side dish of the wrong type is dropped; what carries the decision must have its type. */
export function parseActionFields(
  value: Json,
): { readonly ok: true; readonly fields: ActionFields } | { readonly ok: false; readonly problem: string } {
  if (!isObject(value)) return fieldProblem(`The action must be one JSON object, not ${describeType(value)}.`)
  const { action, notes = null, tool_call: call = null, final_answer: answer = null } = value
  if (typeof action !== 'string') return fieldProblem(`"action" must be a string, not ${describeType(action)}.`)
  if (notes !== null && typeof notes !== 'string') return fieldProblem(`"notes" must be a string, not ${describeType(notes)}.`)
  if (answer !== null && typeof answer !== 'string') return fieldProblem(`"final_answer" must be a string, not ${describeType(answer)}.`)
  if (call !== null && !isObject(call)) return fieldProblem(`"tool_call" must be an object or null, not ${describeType(call)}.`)
  return {
    ok: true,
    fields: {
      action: action.trim().toLowerCase(),
      notes: notes ?? '',
      toolCall: call === null ? undefined : readToolCall(call),
      finalAnswer: answer ?? '',
      followups: parsePhrases(value.suggested_followups),
      questions: parsePhrases(value.clarification_questions ?? value.questions),
    },
  }
}

const fieldProblem = (problem: string) => ({ ok: false as const, problem })

function readToolCall(call: { readonly [key: string]: unknown }): ActionFields['toolCall'] {
  const toolId = typeof call.tool_id === 'string' ? call.tool_id.trim() : ''
  const params = (call.params ?? {}) as Json // parsed from JSON, like everything in it
  const empty = toolId === '' && isObject(params) && Object.keys(params).length === 0
  return empty ? undefined : { toolId, params }
}

const noPhrases: readonly string[] = []

/** Short phrases for the user: one string or a list of them; blank ones and repetitions dropped. */
export function parsePhrases(value: unknown): readonly string[] {
  if (value === undefined || value === null) return noPhrases
  const items: readonly unknown[] = Array.isArray(value) ? value : [value]
  const phrases = items.filter((item) => typeof item === 'string').map((item) => truncate(item.trim(), maxFollowupLength))
  return [...new Set(phrases.filter((phrase) => phrase !== ''))].slice(0, maxFollowups)
}

export function describeType(value: unknown): string {
  if (value === undefined) return 'missing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
