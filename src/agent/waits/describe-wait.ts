import { type Block, readToolCall } from '../../core/block/index.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { Change, ResponseReceived, Wait, WaitKind } from '../../core/timeline/change.ts'
import { completeParams, isCallOf } from '../../tools/call-id.ts'

/** Something that a turn waits for, with the call that waits. */
export interface TurnWait {
  readonly waitId: string
  readonly kind: WaitKind
  /** The tool call that waits. Undefined if the turn waits for a model provider or a larger budget. */
  readonly callId?: string
  /** The tool of the call that waits, and its complete parameters. If they are very long, they are cut, as in the block of the call. */
  readonly toolId?: string
  readonly params?: JsonObject
  /** The question to the person, or a sentence that says what the turn waits for. */
  readonly question?: string
  /** When the wait ends if nothing has arrived before. If it is missing, the turn waits until something arrives. */
  readonly expiresAt?: string
  /** Set when only an operator may decide. */
  readonly approver?: 'operator'
  /** The conversation of the sub-agent that waits. Set for the kind `child`. */
  readonly childId?: string
  /** The name of the budget that was reached. Set for the kind `budget`. */
  readonly budget?: string
  /** The JSON Schema of the answer to the question of a tool. */
  readonly schema?: JsonObject
}

/** Longer parameters are cut, because a page may have many waits. */
const MAX_PARAMS_CHARS = 200_000

/**
 * Describes a wait for callers of the SDK. `call` is the block of its call. `changes` reads the entries of the turn. It is called only if
 * the block shows shortened parameters.
 */
export async function describeWait(wait: Wait, call: Block | undefined, changes: () => Promise<readonly Change[]>): Promise<TurnWait> {
  const { wait_id: waitId, kind, call_id: callId, question, expires_at: expiresAt, approver, child_id: childId, budget, schema } = wait
  const read = call && readToolCall(call)
  return {
    waitId,
    kind,
    ...(callId !== undefined && { callId }),
    ...(read && { toolId: read.tool_id, params: (await completeParamsOf(call, changes)) ?? (read.params as JsonObject) }), // a block has JSON
    ...(question !== undefined && { question }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(approver && { approver }),
    ...(childId !== undefined && { childId }),
    ...(budget !== undefined && { budget }),
    ...(schema && { schema }),
  }
}

/** The complete parameters of a call whose block shows them shortened. A person needs them to decide about the call. */
async function completeParamsOf(call: Block, changes: () => Promise<readonly Change[]>): Promise<JsonObject | undefined> {
  const params = await completeParams(call, async (callId) =>
    (await changes()).find((change): change is ResponseReceived => change.type === 'response.received' && isCallOf(change.call_id, callId)),
  )
  return isObject(params) && JSON.stringify(params).length <= MAX_PARAMS_CHARS ? (params as JsonObject) : undefined
}

/** Describes the waits of a turn. `blocks` are the blocks of the turn. */
export const describeWaits = (
  waits: readonly Wait[],
  blocks: readonly Block[],
  changes: () => Promise<readonly Change[]>,
): Promise<readonly TurnWait[]> =>
  Promise.all(
    waits.map((wait) =>
      describeWait(
        wait,
        blocks.find(({ type, call_id }) => type === 'react.tool.call' && call_id === wait.call_id),
        changes,
      ),
    ),
  )

/**
 * The id to use in a reply to a wait. It is the id of the call. A wait for a larger budget belongs to no call, so the id of the wait is
 * used.
 */
export const replyIdOf = ({ kind, waitId, callId }: Pick<TurnWait, 'kind' | 'waitId' | 'callId'>): string | undefined =>
  kind === 'budget' ? waitId : callId
