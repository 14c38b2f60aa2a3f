import type { Block } from '../block/block.ts'
import { isObject } from '../json.ts'
import type { ModelUsage } from '../model-event.ts'
import type { BlocksAppended, Change, ResponseReceived } from '../timeline/change.ts'
import type { Usage } from '../timeline/response-record.ts'
import { callUsages, fromUsageRecord } from './call-usage.ts'

/** The conversation of a sub-agent. This record is in `meta.child` of the block with the result of the call that started the sub-agent. */
export interface ChildRecord {
  readonly conversation_id: string
  readonly turn_id: string
  /** The model calls of the sub-agent and of its own sub-agents. */
  readonly calls: readonly ChildCall[]
}

/** The tokens of one model call of a sub-agent. */
export interface ChildCall {
  readonly model: string
  readonly ts: string
  readonly usage: Usage
  /** Set when the provider reported no usage and Daybook estimated it. */
  readonly estimated?: true
}

/** A model call of a sub-agent, in the form that cost reports use. */
export interface ChildUsage {
  readonly model: string
  readonly ts: string
  readonly usage: ModelUsage
  readonly estimated: boolean
}

/** Whether an entry may contain results of sub-agents. Most entries do not. */
export const hasChildCalls = ({ blocks }: BlocksAppended): boolean => blocks.some(({ meta }) => meta?.child !== undefined)

/** The model calls of a sub-agent whose result is in this block. Invalid values in `meta` are left out. */
export function childCallsOf({ type, meta }: Block): readonly ChildUsage[] {
  const child = type === 'react.tool.result' ? meta?.child : undefined
  if (!isObject(child) || !Array.isArray(child.calls)) return []
  return child.calls.flatMap((call: unknown) => {
    if (!isObject(call) || typeof call.model !== 'string' || typeof call.ts !== 'string' || !isUsage(call.usage)) return []
    return [{ model: call.model, ts: call.ts, usage: fromUsageRecord(call.usage), estimated: call.estimated === true }]
  })
}

const isUsage = (value: unknown): value is Usage =>
  isObject(value) && (['uncached', 'cache_read', 'cache_write', 'output'] as const).every((name) => Number.isFinite(value[name]))

/** The model calls that an entry in the journal of a sub-agent records. They are calls of this sub-agent and of its own sub-agents. */
export function recordedCalls(change: Change): readonly ChildCall[] {
  if (change.type === 'response.received') return callsOfResponse(change)
  if (change.type !== 'blocks.appended') return []
  return change.blocks.flatMap(childCallsOf).map((call) => toRecord(call))
}

const callsOfResponse = (response: ResponseReceived): readonly ChildCall[] =>
  callUsages(response).map((call) => toRecord({ ...call, ts: response.ts }))

function toRecord({ model, ts, usage, estimated }: ChildUsage): ChildCall {
  const { uncached, cacheRead, cacheWrite, cacheWriteLong, output, reasoning } = usage
  return {
    model,
    ts,
    usage: {
      uncached,
      cache_read: cacheRead,
      cache_write: cacheWrite,
      ...(cacheWriteLong !== undefined && { cache_write_long: cacheWriteLong }),
      output,
      ...(reasoning > 0 && { reasoning }),
    },
    ...(estimated && { estimated: true }),
  }
}
