import type { Change } from '../timeline/change.ts'
import { readChange } from '../view/read-change.ts'
import type { VisibleEvent } from '../view/visible-event.ts'

/** A call of a tool that may have changed something outside of the conversation. */
export interface Effect {
  readonly turnId: string
  readonly callId: string
  readonly toolId: string
  readonly calledAt: string
  /** Undefined until the call has a result. */
  readonly endedAt?: string
  readonly status: EffectStatus
  /** Why the call failed, or why its outcome is unknown. */
  readonly error?: { readonly code: string; readonly message: string }
}

/**
 * The outcome of a call:
 *
 *   done      the tool has returned a result
 *   failed    the tool has returned an error, or it was not run
 *   unknown   the tool was interrupted. It is not known whether it had its effect
 *   waiting   the call waits for something, such as the approval of a person
 *   running   the call has no result yet
 */
export type EffectStatus = (typeof effectStatuses)[number]

export const effectStatuses = ['done', 'failed', 'unknown', 'waiting', 'running'] as const

/** Collects the effects of a conversation from its journal. */
export interface EffectsReader {
  add(change: Change): void
  /** The effects, in the order of the calls. */
  effects(): readonly Effect[]
}

/**
 * Makes an effects reader. `isReadOnly` is true for a tool that changes nothing outside of the timeline. The calls of such tools are left
 * out.
 */
export function createEffectsReader(isReadOnly: (toolId: string) => boolean): EffectsReader {
  const calls = new Map<string, Effect>()
  const waits = new Map<string, string>() // the calls that wait, by the id of the wait

  function update(callId: string | undefined, change: (effect: Effect) => Effect): void {
    const effect = callId === undefined ? undefined : calls.get(callId)
    if (effect) calls.set(effect.callId, change(effect))
  }

  function addEvent(event: VisibleEvent): void {
    if (event.kind === 'tool.call') {
      const { turnId, callId, toolId = '', ts: calledAt } = event
      if (callId !== undefined && !isReadOnly(toolId)) calls.set(callId, { turnId, callId, toolId, calledAt, status: 'running' })
    } else if (event.kind === 'tool.result') {
      const { isOutput, error, ts: endedAt } = event
      const failed = isOutput && event.failed
      update(event.callId, (effect) => (effect.error && !failed ? effect : ended(effect, endedAt, failed, failed ? error : undefined)))
    }
  }

  return {
    add(change) {
      if (change.type === 'blocks.appended') readChange(change).forEach(addEvent)
      else if (change.type === 'call.finished') {
        const { ok, error } = change.outcome
        update(change.call_id, (effect) => ended(effect, change.ts, !ok, errorOf(error)))
      } else if (change.type === 'turn.waiting') {
        for (const { wait_id, call_id } of change.waits) if (call_id !== undefined) waits.set(wait_id, call_id)
      } else if (change.type === 'turn.resumed') for (const id of change.wait_ids) waits.delete(id)
      else if (change.type === 'turn.closed') waits.clear()
    },
    effects() {
      const waiting = new Set(waits.values())
      return [...calls.values()].map((effect) =>
        effect.status === 'running' && waiting.has(effect.callId) ? { ...effect, status: 'waiting' } : effect,
      )
    },
  }
}

type CallError = Effect['error']

function ended(effect: Effect, endedAt: string, failed: boolean, error: CallError): Effect {
  return { ...effect, endedAt, status: failed ? failureStatus(error) : 'done', ...(error && { error }) }
}

/** Codes of errors with which a call can end although the tool has had its effect. */
const interruptions: ReadonlySet<string> = new Set(['outcome_unknown', 'gave_up', 'tool_cancelled', 'tool_timeout'])

/**
 * The status of a failed call. After `result_unfit`, the tool has run, and only its result could not be used. If the call was interrupted
 * before its tool was started, the message of the error says that it had no effect.
 */
function failureStatus(error: CallError): EffectStatus {
  if (error === undefined) return 'failed'
  if (error.code === 'result_unfit') return 'done'
  return interruptions.has(error.code) && !error.message.includes('it had no effect') ? 'unknown' : 'failed'
}

function errorOf(error: unknown): CallError {
  if (typeof error !== 'object' || error === null) return undefined
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown }
  return typeof code === 'string' && typeof message === 'string' ? { code, message } : undefined
}
